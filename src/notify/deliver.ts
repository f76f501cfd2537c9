import { placeOf } from '../log.ts'
import { type HttpRequest, isMail } from './channel.ts'
import type { Channel } from './channel-table.ts'
import type { Delivered, HttpDelivery } from './http-delivery.ts'
import { type MailClock, sendMail } from './mail-delivery.ts'
import type { Said } from './wording.ts'

/** Sends a message through a channel once; never rejects. Of several instances, one must accept it. */
export async function deliver(channel: Channel, said: Said, { http, clock, signal }: DeliverDeps): Promise<Delivered> {
  try {
    const { ca } = channel.settings
    const rendered = channel.render(said)
    if (isMail(rendered)) return await sendMail(rendered, { ca, clock, signal })
    return bestOf(await Promise.all(rendered.map((request) => sendAll(request, { http, signal, ca }))))
  } catch (error) {
    // What cannot be rendered or is no valid request now is none later either. Its message may hold a secret.
    return { result: 'rejected', error: `the message could not be put into a request (${placeOf(error)})` }
  }
}

/** With what follows it; a second attempt begins with the first request. */
async function sendAll(request: HttpRequest, deps: SendDeps): Promise<Delivered> {
  const delivered = await deps.http.send(request, deps.signal, deps.ca)
  const { next } = request
  return next === undefined || delivered.result !== 'sent' ? delivered : sendAll(next, deps)
}

interface SendDeps extends Pick<DeliverDeps, 'http' | 'signal'> {
  readonly ca: string | null
}

interface DeliverDeps {
  readonly http: HttpDelivery
  readonly clock: MailClock
  readonly signal: AbortSignal
}

/** The outcome of requests to equal instances. */
export function bestOf(outcomes: readonly Delivered[]): Delivered {
  const failed = outcomes.flatMap((outcome) => (outcome.result === 'sent' ? [] : outcome))
  const [first = { result: 'rejected', error: 'there is no receiver' }] = failed
  if (failed.length === outcomes.length) return failed.find(({ result }) => result === 'retried') ?? first
  if (failed.length === 0) return { result: 'sent' }
  return { result: 'sent', missed: `${failed.length} of ${outcomes.length} instances: ${first.error}` }
}
