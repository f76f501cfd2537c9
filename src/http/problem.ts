import type { FastifyReply } from 'fastify'
import type { ZodFastifySchemaValidationError } from 'fastify-type-provider-zod'
import type { ProblemView } from './wire/common.ts'

/** Sends an error as problem details (RFC 9457). They contain no value from the request and nothing from a node. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .type('application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemBody(problem)))
}

export type Problem = Omit<ProblemView, 'type' | 'title'>
export type ParameterErrors = NonNullable<ProblemView['errors']>

const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Not authorised',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  413: 'Too large',
  414: 'URL too long',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Not available',
}

export function problemBody({ status, detail, errors }: Problem): ProblemView {
  const title = TITLES[status] ?? (status < 500 ? 'Bad request' : 'Internal error')
  return { type: 'about:blank', title, status, detail, ...(errors === undefined ? {} : { errors }) }
}

export function sendUnknown(reply: FastifyReply, what: 'network' | 'endpoint'): FastifyReply {
  return sendProblem(reply, { status: 404, detail: `There is no such ${what} in the configuration.` })
}

export function sendBadQuery(reply: FastifyReply, errors: ParameterErrors): FastifyReply {
  const detail = errors.map((error) => `${error.parameter} ${error.detail}`).join('; ')
  return sendProblem(reply, { status: 400, detail, errors })
}

/** Lists every bad parameter in query order, also unknown and repeated ones: a typo must not select a default. */
export function parameterErrors(query: unknown, issues: readonly ZodFastifySchemaValidationError[]): ParameterErrors {
  const given = (query ?? {}) as Record<string, unknown>
  const details = new Map<string, string>()
  for (const { keyword, instancePath, message = '', params } of issues) {
    const name = instancePath.slice(1)
    if (keyword === 'unrecognized_keys') {
      for (const unknown of params.keys as string[]) details.set(unknown, 'is not a parameter of this route')
    } else if (given[name] === undefined) details.set(name, 'is missing')
    else details.set(name, Array.isArray(given[name]) ? 'is given more than once' : message)
  }
  const names = new Set([...Object.keys(given), ...details.keys()])
  return [...names].flatMap((name) => {
    const detail = details.get(name)
    return detail === undefined ? [] : [{ parameter: shortened(name), detail }]
  })
}

/** Lists every bad field of a JSON body, also unknown ones. */
export function fieldErrors(issues: readonly ZodFastifySchemaValidationError[]): ParameterErrors {
  return issues.flatMap(({ keyword, instancePath, message = '', params }) => {
    if (keyword === 'unrecognized_keys') {
      const unknown = params.keys as string[]
      return unknown.map((name) => ({ parameter: shortened(name), detail: 'is not a field of this route' }))
    }
    const parameter = instancePath.slice(1)
    return [parameter === '' ? { parameter: 'body', detail: 'must be a JSON object' } : { parameter, detail: message }]
  })
}

function shortened(name: string): string {
  return name.length > 64 ? `${name.slice(0, 63)}…` : name
}
