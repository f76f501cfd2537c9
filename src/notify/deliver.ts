import { placeOf } from '../log.ts'
import { isMail } from './channel.ts'
import type { Channel } from './channel-table.ts'
import type { Delivered, HttpDelivery } from './http-delivery.ts'
import { type MailClock, sendMail } from './mail-delivery.ts'
import type { Said } from './wording.ts'

/** Sends a message through a channel once; never rejects. Of several receivers, one must accept it. */
export async function deliver(
  channel: Channel,
  said: Said,
  { http, clock, signal }: { readonly http: HttpDelivery; readonly clock: MailClock; readonly signal: AbortSignal },
): Promise<Delivered> {
  try {
    const { ca } = channel.settings
    const rendered = channel.render(said)
    if (isMail(rendered)) return await sendMail(rendered, { ca, clock, signal })
    return bestOf(await Promise.all(rendered.map((request) => http.send(request, signal, ca))))
  } catch (error) {
    // What cannot be rendered or is no valid request now is none later either. Its message may hold a secret.
    return { result: 'rejected', error: `the message could not be put into a request (${placeOf(error)})` }
  }
}

/** The outcome of requests to equal receivers. */
export function bestOf(outcomes: readonly Delivered[]): Delivered {
  const best = outcomes.find(({ result }) => result === 'sent') ?? outcomes.find(({ result }) => result === 'retried')
  return best ?? outcomes[0] ?? { result: 'rejected', error: 'there is no receiver' }
}
