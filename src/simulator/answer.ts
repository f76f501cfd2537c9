import type { IncomingHttpHeaders } from 'node:http'
import type { UnixMs } from '../core/time.ts'
import type { FaultSet } from './fault-set.ts'
import type { NodeView } from './view.ts'

/** A family's answer, before transport faults are applied. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Request {
  readonly method: string
  /** As sent, without query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Situation {
  readonly view: NodeView
  readonly faults: FaultSet
  /** The true time. */
  readonly now: UnixMs
  /** The time of the node's own clock. */
  readonly nodeNow: UnixMs
}

export type Family = (request: Request, situation: Situation) => Answer

export function json(status: number, value: unknown, contentType = 'application/json; charset=utf-8'): Answer {
  return { status, headers: { 'content-type': contentType }, body: JSON.stringify(value) }
}

/** A plain-text response like that of Go's `http.Error`. */
export function text(status: number, body: string): Answer {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  return { status, headers, body: `${body}\n` }
}

/** The media type in lower case, without parameters. */
export function mediaType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
