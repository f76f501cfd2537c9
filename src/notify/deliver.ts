import { isMail } from './channel.ts'
import type { Channel } from './channel-table.ts'
import type { Delivered, HttpDelivery } from './http-delivery.ts'
import { sendMail } from './mail-delivery.ts'
import type { Said } from './wording.ts'

/** nodemailer cannot be aborted: its own timeouts end what it does. */
function ended(signal: AbortSignal): Promise<Delivered> {
  return new Promise((resolve) => {
    const end = () => resolve({ result: 'retried', error: 'Heartline was stopped', retryAfterMs: null })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** Sends a message through a channel once; never rejects. Of several receivers, one must accept it. */
export async function deliver(
  channel: Channel,
  said: Said,
  http: HttpDelivery,
  signal: AbortSignal,
): Promise<Delivered> {
  try {
    const rendered = channel.render(said)
    if (isMail(rendered)) return await Promise.race([sendMail(rendered), ended(signal)])
    const answers = await Promise.all(rendered.map((request) => http.send(request, signal)))
    const best = answers.find(({ result }) => result === 'sent') ?? answers.find(({ result }) => result === 'retried')
    return best ?? answers[0] ?? { result: 'rejected', error: 'there is no receiver' }
  } catch {
    // What cannot be rendered or is no valid request now is none later either.
    return { result: 'rejected', error: 'the message could not be put into a request' }
  }
}
