import type { FastifyReply } from 'fastify'
import type { ProblemView } from './wire-common.ts'

/** An error as RFC 9457 has it. The details are ours: nothing of the request and nothing of a node is repeated in them. */
export type Problem = Omit<ProblemView, 'type' | 'title'>

const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Not authorised',
  404: 'Not found',
  405: 'Method not allowed',
  413: 'Too large',
  414: 'URL too long',
  415: 'Unsupported media type',
  500: 'Internal error',
  503: 'Not available',
}

export function problemBody({ status, detail, errors }: Problem): ProblemView {
  const title = TITLES[status] ?? (status < 500 ? 'Bad request' : 'Internal error')
  return { type: 'about:blank', title, status, detail, ...(errors === undefined ? {} : { errors }) }
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemBody(problem)))
}
