import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'
import { ERRORS, type GatewayError, restError, rpcErrorWithoutId } from '../errors.ts'
import { NOT_FORWARDED } from '../upstream-request.ts'
import type { Admission, ErrorFormat } from './admission.ts'
import { type BodyLimits, readBody } from './envelope.ts'
import { type BodyMemory, closeAfterBody, declaredLength, hasBody, isChunked, receiveBody } from './request-body.ts'
import type { RequestRecorder } from './request-recorder.ts'
import { type ResponseHeaders, rejectCalls, respond } from './respond.ts'

/** Answers a whole request with an error. A small body is read, so that the error carries the ids of its calls. */
export async function rejectRequest(
  exchange: Exchange,
  { caller, network }: Pick<Admission, 'caller' | 'network'>,
  rejection: GatewayError,
  format: ErrorFormat,
  { recorder, bodies, clock }: RejectDeps,
): Promise<void> {
  const { req, res, awaitsContinue, rules } = exchange
  const { kind, retryAfterMs, allow } = rejection
  recorder.rejected(caller, network, kind, 1)
  // Closes, because a proxy may disagree about where a malformed request ends (request smuggling).
  const closes = exchange.headers.closes === true || kind === 'no-request'
  const headers = { ...exchange.headers, provenance: NOT_FORWARDED, retryAfterMs, allow, closes }
  const isRest = format === 'rest'
  const status = isRest ? ERRORS[kind].restStatus : ERRORS[kind].status
  const error = [isRest ? restError(rejection) : rpcErrorWithoutId(rejection)]
  if (!hasBody(req)) return respond(res, status, error, headers)
  const length = isChunked(req) ? SMALL_BODY : declaredLength(req)
  const isReadable = length > 0 && length <= SMALL_BODY && !awaitsContinue && !req.readableDidRead
  const mayRead = !isRest && isReadable && kind !== 'too-large' && bodies.mayTake(caller, length)
  const body = mayRead ? await receiveBody(req, SMALL_BODY, bodies, caller) : 'unread'
  if (body === 'gone') return
  if (typeof body !== 'string') return respond(res, status, rejectCalls(readBody(body, rules), rejection), headers)
  await respond(res, status, error, { ...headers, closes: true }, { lingers: true })
  closeAfterBody(req, res, clock)
}

const SMALL_BODY = 16 * 1024

/** A request and its response, with the rules in force when it arrived. */
export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** On the monotonic clock. */
  readonly receivedAt: number
  /** The caller sends its body only after 100 Continue. */
  readonly awaitsContinue: boolean
  readonly headers: ResponseHeaders
  readonly rules: BodyLimits
}

export interface RejectDeps {
  readonly recorder: RequestRecorder
  readonly bodies: BodyMemory
  readonly clock: Pick<Clock, 'after'>
}
