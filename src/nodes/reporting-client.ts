import type { NodeRequest } from '../chains/chain.ts'
import type { Clock } from '../clock.ts'
import type { PollStep } from '../core/verdict/single-poll.ts'
import type { NodeClient, Sent } from './client.ts'
import type { Redact } from './redact.ts'

type Sender = Pick<NodeClient, 'send' | 'tlsNotAfter'>

/** Wraps a client and reports every request and response, without secrets. */
export function createReportingClient(
  client: Sender,
  clock: Pick<Clock, 'monotonic'>,
  redact: Redact,
  onStep: (step: PollStep) => void,
): Sender {
  const beganAt = clock.monotonic()
  return {
    tlsNotAfter: client.tlsNotAfter,
    async send(address, request, deadline) {
      const sentAt = clock.monotonic()
      const sent = await client.send(address, request, deadline)
      onStep(stepOf(request, sent, sentAt - beganAt, clock.monotonic() - sentAt, redact))
      return sent
    },
  }
}
function stepOf({ method, path, body }: NodeRequest, sent: Sent, afterMs: number, tookMs: number, redact: Redact) {
  return {
    afterMs,
    tookMs,
    waitedMs: sent.waitedMs,
    method,
    path: redact(path),
    body: body === null ? null : redact(body),
    answer: sent.ok
      ? {
          ok: true,
          status: sent.answer.status,
          bytes: sent.answer.body.length,
          text: redact(sent.answer.body.toString(), SHOWN_CHARACTERS),
        }
      : { ok: false, failure: sent.failure },
  } satisfies PollStep
}

/** Number of a response's characters that are shown. */
const SHOWN_CHARACTERS = 2048
