import { describe, expect, test } from 'vitest'
import type { Delivered } from '../../src/notify/http-delivery.ts'
import type { Message } from '../../src/notify/notification.ts'
import { Outbox } from '../../src/notify/outbox.ts'
import { createSender } from '../../src/notify/sender.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const FAILED: Delivered = { result: 'retried', error: 'connection refused', retryAfterMs: null }

/** A sender over a sink that answers as `answer` says. */
function setUp({
  answer,
  rate = 30,
}: {
  answer: (message: Message, attempt: number) => Delivered | Promise<Delivered>
  rate?: number
}) {
  const clock = createFakeClock()
  const attempts: { readonly at: number; readonly message: Message }[] = []
  const results: string[] = []
  let ids = 0
  const outbox = new Outbox({
    settings: () => ({ channel: 'ops', minState: 'degraded', groupWaitMs: 0 }),
    newId: () => `id-${++ids}`,
  })
  const sender = createSender({
    outbox,
    clock,
    random: () => 1,
    ratePerMinute: () => rate,
    send: async (message) => {
      attempts.push({ at: clock.monotonic() - 1000, message })
      return answer(message, attempts.length)
    },
    onSettled: (_notifications, result) => results.push(result),
    onHealth: () => undefined,
  })
  function tell(subject: string, open = true): void {
    const fixed = { kind: 'incident', state: 'down', flapping: false, absorbed: false, wanted: true, text: '' } as const
    const changed = outbox.changed({ ...fixed, subject, open, report: () => null }, clock.now(), clock.monotonic())
    outbox.stored(new Set(changed.map(({ id }) => id)))
    sender.wake()
  }
  /** In small steps, because messages follow each other without a timer. */
  async function advance(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) await clock.advance(stepMs)
  }
  return { clock, attempts, results, outbox, sender, tell, advance }
}

describe('a sender', () => {
  test('sends at once, and never more than the rate in any minute', async () => {
    const { attempts, tell, advance } = setUp({ answer: () => ({ result: 'sent' }), rate: 5 })
    for (let at = 0; at < 17; at++) tell(`i${at}`)

    await advance(240_000)

    expect(attempts).toHaveLength(17)
    expect(attempts[0]?.at).toBe(0)
    for (const { at } of attempts) {
      expect(attempts.filter((other) => other.at > at - 60_000 && other.at <= at).length).toBeLessThanOrEqual(5)
    }
  })

  test('tries a dead sink at least every minute, and after an hour sends what matters within a minute', async () => {
    const { clock, attempts, tell } = setUp({
      answer: () => (clock.monotonic() - 1000 < 3_600_000 ? FAILED : { result: 'sent' }),
    })
    tell('closed')
    tell('open')
    await clock.advance(600_000)
    tell('closed', false)

    await clock.advance(3_060_000)

    const times = attempts.map(({ at }) => at)
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_000)
    const late = attempts.filter(({ at }) => at >= 3_600_000).map(({ message }) => message)
    expect(
      late
        .map(({ type, subject, saysBoth }) => [type, subject, saysBoth])
        .toSorted((a, b) => String(a).localeCompare(String(b))),
    ).toEqual([
      ['incident.closed', 'closed', true],
      ['incident.opened', 'open', false],
    ])
    expect(attempts.length).toBeLessThan(120)
  })

  test('tries a sink that keeps failing once per pause, whatever waits, and sends everything once it works', async () => {
    const { attempts, results, outbox, sender, tell, advance } = setUp({
      answer: ({ subject }) => (isDown || subject === 'poison' ? FAILED : { result: 'sent' }),
    })
    let isDown = true
    for (let at = 0; at < 20; at++) tell(`i${at}`)
    await advance(100_000)
    const whileDown = attempts.map(({ at }) => at)
    const waiting = outbox.waiting().length
    isDown = false
    await advance(60_000)
    const sent = attempts.slice(whileDown.length)

    // Five failures open the circuit; pauses double up to 45 s.
    expect(whileDown).toEqual([0, 0, 0, 0, 0, 16_000, 48_000, 93_000])
    expect(waiting).toBe(20)
    expect(sent[0]?.at).toBe(138_000)
    expect(sent.at(-1)?.at).toBeLessThan(139_000)
    expect(sent).toHaveLength(20)
    expect(new Set(sent.map(({ message }) => message.subject)).size).toBe(20)
    expect(results.filter((result) => result === 'sent')).toHaveLength(20)
    expect(sender.health).toMatchObject({ failing: false, lastError: null })

    // It is closed again: one failure is no reason for the others to wait.
    await advance(60_000)
    tell('poison')
    tell('next')
    await advance(100)

    expect(attempts.slice(-2).map(({ at, message }) => [at - 220_000, message.subject])).toEqual([
      [0, 'poison'],
      [0, 'next'],
    ])
  })

  test('waits as long as Retry-After says, with every message', async () => {
    const { clock, attempts, tell } = setUp({
      answer: (_message, attempt) =>
        attempt === 1 ? { result: 'retried', error: 'answered HTTP 429', retryAfterMs: 90_000 } : { result: 'sent' },
    })
    tell('a')
    await clock.advance(10)
    tell('b')

    await clock.advance(200_000)

    expect(attempts.map(({ at }) => at)).toEqual([0, 90_000, 90_000])
  })

  test('does not wait for what another receiver has asked for', async () => {
    const { clock, attempts, sender, tell } = setUp({
      answer: (_message, attempt) =>
        attempt === 1 ? { result: 'retried', error: 'answered HTTP 429', retryAfterMs: 3_600_000 } : { result: 'sent' },
    })
    tell('a')
    await clock.advance(10_000)
    tell('b')

    sender.startOver()
    await clock.advance(1000)

    expect(attempts.map(({ at }) => at)).toEqual([0, 10_000, 10_000])
  })

  test('sends what is in flight to the receiver that follows, whatever the one before says of it', async () => {
    let refuse = () => {}
    const { clock, attempts, results, sender, tell } = setUp({
      answer: (_message, attempt) =>
        attempt > 1
          ? { result: 'sent' }
          : new Promise((resolve) => {
              refuse = () => resolve({ result: 'rejected', error: 'answered HTTP 404' })
            }),
    })
    tell('a')
    await clock.advance(1000)

    sender.startOver()
    refuse()
    await clock.advance(1000)

    expect([attempts.length, results, sender.health.failing]).toEqual([2, ['retried', 'sent'], false])
  })

  test('goes on past a message that its receiver cannot take, which ends after a day', async () => {
    const { attempts, results, outbox, tell, advance } = setUp({
      answer: ({ subject }) => (subject === 'poison' ? FAILED : { result: 'sent' }),
    })
    tell('poison')
    await advance(3_600_000, 5000)
    for (let hour = 0; hour < 25; hour++) {
      tell(`i${hour}`)
      await advance(60_000, 5000)
      expect(attempts.some(({ message }) => message.subject === `i${hour}`)).toBe(true)
      await advance(3_540_000, 5000)
    }

    expect(attempts.filter(({ message }) => message.subject !== 'poison')).toHaveLength(25)
    expect(results.filter((result) => result === 'expired')).toHaveLength(1)
    expect(outbox.waiting()).toEqual([])
  })

  test('does not retry what is rejected', async () => {
    const { clock, attempts, results, sender, tell } = setUp({
      answer: () => ({ result: 'rejected', error: 'answered HTTP 400: invalid_payload' }),
    })
    tell('a')

    await clock.advance(600_000)

    expect(attempts).toHaveLength(1)
    expect(results).toEqual(['rejected'])
    expect(sender.health).toMatchObject({ failing: true, lastError: 'answered HTTP 400: invalid_payload' })
  })

  test('starts nothing after it was stopped', async () => {
    const { clock, attempts, sender, tell } = setUp({ answer: () => FAILED })
    tell('a')
    await clock.advance(10)

    await sender.stop()
    await clock.advance(600_000)

    expect(attempts).toHaveLength(1)
  })
})
