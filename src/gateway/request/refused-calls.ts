import { type GatewayError, rpcError } from '../errors.ts'
import type { Body, Entry } from './envelope.ts'
import { type Framed, frameBatch, frameError } from './respond.ts'

/** Refuses a whole body for one reason: every call is told under its own id, and what has no id once, under `null`. */
export function refuseCalls(body: Body, because: GatewayError): Buffer | Framed {
  const error = rpcError(because)
  if (body.kind === 'rejected') return frameError('null', error)
  if (body.kind === 'single') return frameError(idOf(body.entry), error)
  const told = body.entries.filter((entry) => entry.kind === 'rejected' || !entry.call.isNotification)
  return told.length === 0 ? frameError('null', error) : frameBatch(told.map((entry) => frameError(idOf(entry), error)))
}

function idOf(entry: Entry): string {
  return entry.kind === 'call' ? entry.call.id : entry.id
}
