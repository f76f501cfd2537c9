import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../src/core/verdict/condition.ts'
import type { Message, Notification, Report } from '../../src/notify/notification.ts'
import { EXPIRES_AFTER_MS, Outbox } from '../../src/notify/outbox.ts'
import { nextStep, type SubjectState } from '../../src/notify/subject-state.ts'

const NOW = Date.UTC(2026, 0, 1)

function stateOf(subject: string, over: Partial<SubjectState> = {}): SubjectState {
  const fixed = { kind: 'incident', flapping: false, absorbed: false, wanted: true, text: '' } as const
  return { ...fixed, subject, open: true, state: 'down', report: () => null, ...over }
}

function outboxOf({
  groupWaitMs = 0,
  minState = 'degraded',
  groupsByNetwork = false,
  groups = true,
}: {
  groupWaitMs?: number
  groups?: boolean
  groupsByNetwork?: boolean
  minState?: Verdict
} = {}): Outbox {
  let last = 0
  const settings = () => ({ channel: 'ops', minState, groupWaitMs, groups, groupsByNetwork })
  return new Outbox({ settings, newId: () => `id-${++last}` })
}

/** Passes a change, and lets it be sent. */
function tell(outbox: Outbox, change: SubjectState, mono = 0): readonly Notification[] {
  const changed = outbox.changed(change, NOW, mono)
  outbox.stored(new Set(changed.map(({ id }) => id)))
  return changed
}

function send(outbox: Outbox, mono = 0): Message | null {
  const message = outbox.take(NOW, mono)
  if (message !== null) outbox.settle(message, { result: 'sent' }, NOW, mono)
  return message
}

const failure = { result: 'retried', error: 'connection refused', delayMs: 1000 } as const
const typesSent = (outbox: Outbox, mono = 0) => {
  const types: string[] = []
  for (let message = send(outbox, mono); message !== null; message = send(outbox, mono)) types.push(message.type)
  return types
}

describe('an outbox', () => {
  test('tells what opened, got worse, improved and closed, in order', () => {
    const outbox = outboxOf()

    tell(outbox, stateOf('a', { state: 'degraded' }))
    const types = typesSent(outbox)
    tell(outbox, stateOf('a', { state: 'down' }))
    types.push(...typesSent(outbox))
    tell(outbox, stateOf('a', { state: 'degraded' }))
    types.push(...typesSent(outbox))
    tell(outbox, stateOf('a', { open: false }))
    types.push(...typesSent(outbox))

    expect(types).toEqual(['incident.opened', 'incident.worse', 'incident.better', 'incident.closed'])
  })

  test('sends nothing before it is on disk', () => {
    const outbox = outboxOf()
    const [opened] = outbox.changed(stateOf('a'), NOW, 0)

    expect(outbox.take(NOW, 0)).toBeNull()

    outbox.stored(new Set([opened?.id ?? '']))
    expect(outbox.take(NOW, 0)?.type).toBe('incident.opened')
  })

  test('sends no part of a group, since what follows under its id would be taken for a double', () => {
    const outbox = outboxOf({ groupWaitMs: 10_000 })
    const subjects = (message: Message | null) => message?.reports.length
    const reported = (subject: string) => stateOf(subject, { report: () => ({ id: subject }) as Report })
    tell(outbox, reported('a'))
    const [late] = outbox.changed(reported('b'), NOW, 9999)

    expect([outbox.take(NOW, 10_000), outbox.dueAt()]).toEqual([null, null])

    outbox.stored(new Set([late?.id ?? '']))
    expect(outbox.dueAt()).toBe(10_000)
    expect(subjects(outbox.take(NOW, 10_000))).toBe(2)
    expect(outbox.take(NOW, 10_000)).toBeNull()
  })

  test('says both in one message if an incident opened and closed while it waited', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a'))
    const first = outbox.take(NOW, 0)
    if (first !== null) outbox.settle(first, failure, NOW, 0)

    tell(outbox, stateOf('a', { open: false }))

    expect(outbox.take(NOW, 0)).toMatchObject({ type: 'incident.closed', saysBoth: true })
    expect(outbox.take(NOW, 5000)).toBeNull()
  })

  test('says both if the opening fails only after the incident has closed', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a'))
    const opening = outbox.take(NOW, 0)
    tell(outbox, stateOf('a', { open: false }))
    const inFlight = outbox.take(NOW, 0)

    const changed = opening === null ? [] : outbox.settle(opening, failure, NOW, 0)
    outbox.stored(new Set(changed.map(({ id }) => id)))

    expect(inFlight).toBeNull()
    expect(changed.map(({ type, state }) => [type, state])).toEqual([
      ['incident.opened', 'superseded'],
      ['incident.closed', 'waiting'],
    ])
    expect(send(outbox)).toMatchObject({ type: 'incident.closed', saysBoth: true })
  })

  test('makes one message of what opens within the group wait, and sends no other type with it', () => {
    const outbox = outboxOf({ groupWaitMs: 10_000 })
    for (const [at, subject] of ['a', 'b', 'c'].entries()) tell(outbox, stateOf(subject), at * 1000)
    tell(outbox, stateOf('c', { open: false }), 5000)
    tell(outbox, stateOf('d'), 10_500)

    const early = outbox.take(NOW, 4000)
    const closed = send(outbox, 5000)
    const group = send(outbox, 10_000)
    const rest = send(outbox, 20_500)

    expect(early).toBeNull()
    expect(closed).toMatchObject({ type: 'incident.closed', subject: 'c', saysBoth: true })
    expect(group).toMatchObject({ type: 'incident.opened', subject: 'a' })
    expect(rest).toMatchObject({ type: 'incident.opened', subject: 'd' })
    expect(outbox.waiting()).toEqual([])
  })

  test.each([true, false])(
    'makes messages of one network each, if another daemon may send them: %s',
    (groupsByNetwork) => {
      const outbox = outboxOf({ groupWaitMs: 10_000, groupsByNetwork })
      for (const [id, network] of [
        ['a', 'one'],
        ['b', 'two'],
        ['c', 'one'],
      ] as const) {
        tell(outbox, stateOf(id, { report: () => ({ id, network }) as Report }))
      }

      const groups = [send(outbox, 10_000), send(outbox, 10_000)].map((message) => message?.reports.map(({ id }) => id))

      expect(groups).toEqual(groupsByNetwork ? [['a', 'c'], ['b']] : [['a', 'b', 'c'], undefined])
    },
  )

  test('sends one by one what was grouped for another type of channel, each under an id that a restart keeps', () => {
    const grouping = outboxOf({ groupWaitMs: 10_000 })
    const disk = ['a', 'b'].flatMap((subject) => tell(grouping, stateOf(subject)))
    const sent = () => {
      const outbox = outboxOf({ groups: false })
      outbox.restore(disk, NOW, 0)
      return [send(outbox), send(outbox)].map((message) => [message?.id, message?.subject])
    }

    expect(sent()).toEqual(disk.map(({ id, subject }) => [id, subject]))
    expect(sent()).toEqual(sent())
  })

  test('says both of each incident of a group that was never received, and nothing of their opening', () => {
    const outbox = outboxOf({ groupWaitMs: 10_000 })
    for (const subject of ['a', 'b']) tell(outbox, stateOf(subject))
    const group = outbox.take(NOW, 10_000)
    if (group !== null) outbox.settle(group, failure, NOW, 10_000)

    for (const subject of ['a', 'b']) tell(outbox, stateOf(subject, { open: false }), 12_000)

    const sent = [send(outbox, 20_000), send(outbox, 20_000), send(outbox, 20_000)]
    expect(sent.map((message) => message && [message.type, message.subject, message.saysBoth])).toEqual([
      ['incident.closed', 'a', true],
      ['incident.closed', 'b', true],
      null,
    ])
  })

  test('keeps one message id for every attempt, and another one for every message', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a', { state: 'degraded' }))
    const first = outbox.take(NOW, 0)
    if (first !== null) outbox.settle(first, failure, NOW, 0)
    tell(outbox, stateOf('a', { state: 'down' }))

    const again = send(outbox, 1000)
    const worse = send(outbox, 1000)

    expect(again).toMatchObject({ id: first?.id, type: 'incident.opened' })
    expect(worse).toMatchObject({ type: 'incident.worse' })
    expect(worse?.id).not.toBe(first?.id)
  })

  test('says that an endpoint flaps when it opens, and then nothing until it closes', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a', { flapping: true }))
    tell(outbox, stateOf('a', { flapping: true, open: false }))
    const both = typesSent(outbox)
    tell(outbox, stateOf('a', { flapping: true }))
    const again = typesSent(outbox)
    tell(outbox, stateOf('a', { flapping: true, state: 'degraded' }))
    const silent = typesSent(outbox)
    tell(outbox, stateOf('a', { flapping: true, open: false }))

    expect([both, again, silent, typesSent(outbox)]).toEqual([
      ['incident.closed'],
      ['incident.opened'],
      [],
      ['incident.closed'],
    ])
  })

  test('tells below `min_state` nothing, and reaching it first as opened', () => {
    const outbox = outboxOf({ minState: 'down' })
    const types: string[][] = []
    for (const over of [
      { state: 'degraded' },
      { state: 'down' },
      { state: 'degraded' },
      { state: 'down' },
      { open: false },
    ] as const) {
      tell(outbox, stateOf('a', over))
      types.push(typesSent(outbox))
    }
    tell(outbox, stateOf('b', { state: 'degraded' }))
    tell(outbox, stateOf('b', { open: false, state: 'degraded' }))

    expect(types).toEqual([[], ['incident.opened'], [], [], ['incident.closed']])
    expect(typesSent(outbox)).toEqual([])
  })

  test('does not repeat what flaps, or has fallen below `min_state`', () => {
    const outbox = outboxOf({ minState: 'down' })
    tell(outbox, stateOf('a'))
    typesSent(outbox)

    const silent = [{ flapping: true }, { state: 'degraded' }] as const
    expect(silent.map((over) => outbox.repeat(stateOf('a', over), NOW, 0))).toEqual([[], []])
    expect(outbox.repeat(stateOf('a'), NOW, 0)).toHaveLength(1)
  })

  test('does not announce an endpoint whose network halted first, and closes what it has announced', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('told'))
    typesSent(outbox)
    tell(outbox, stateOf('waiting'))

    tell(outbox, stateOf('told', { open: false, absorbed: true }))
    tell(outbox, stateOf('waiting', { open: false, absorbed: true }))

    expect(outbox.take(NOW, 0)).toMatchObject({ type: 'incident.closed', subject: 'told' })
    expect(outbox.take(NOW, 0)).toBeNull()
  })

  test('goes on after a rejected message', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a'))
    const opening = outbox.take(NOW, 0)
    if (opening !== null) outbox.settle(opening, { result: 'rejected', error: 'answered HTTP 400' }, NOW, 0)

    tell(outbox, stateOf('a', { open: false }))

    expect(typesSent(outbox)).toEqual(['incident.closed'])
  })

  test('gives up after 24 hours, whatever the wall clock says', () => {
    const outbox = outboxOf()
    tell(outbox, stateOf('a'))

    expect(outbox.expire(NOW + 10 * EXPIRES_AFTER_MS, EXPIRES_AFTER_MS - 1)).toEqual([])
    expect(outbox.expire(NOW, EXPIRES_AFTER_MS)).toMatchObject([{ state: 'expired' }])
  })

  test('continues after a restart where the earlier run ended, under the same ids', () => {
    const outbox = outboxOf()
    const [opened] = tell(outbox, stateOf('a', { state: 'degraded', report: () => ({ state: 'degraded' }) as never }))
    const after = outboxOf()

    after.restore(opened === undefined ? [] : [opened], NOW + 1000, 0)
    tell(after, stateOf('a', { state: 'down' }))

    expect(send(after)).toMatchObject({ id: opened?.messageId, type: 'incident.opened' })
    expect(send(after)?.type).toBe('incident.worse')
  })
})

test('nothing is sent twice in a row, and every change that matters is', () => {
  const verdict = fc.constantFrom<Verdict>('degraded', 'down')
  const heard = fc.option(fc.record({ open: fc.boolean(), state: verdict }), { nil: null })
  const state = fc.record({ open: fc.boolean(), state: verdict, flapping: fc.boolean(), wanted: fc.boolean() })
  fc.assert(
    fc.property(heard, state, verdict, (before, now, minState) => {
      const step = nextStep(before, now, minState)
      if (step === null) return
      const after = { open: now.open, state: now.state }

      expect(nextStep(after, now, minState)).toBeNull()
      expect(step === 'opened').toBe(now.open && before?.open !== true)
    }),
  )
})

/** Random incidents, failures and restarts: what a receiver hears. */
test('a receiver hears of each subject in order, and in the end how it stands, through failures and restarts', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ of: fc.nat(2), open: fc.boolean(), down: fc.boolean(), flaps: fc.boolean() }) },
    { weight: 4, arbitrary: fc.constantFrom('sent', 'lost', 'failed', 'wait') },
    { weight: 1, arbitrary: fc.constantFrom('restart') },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 10_000), (steps, groupWaitMs) => {
      const disk = new Map<string, Notification>()
      const received: Message[] = []
      const standing = new Map<string, { open: boolean; state: Verdict }>()
      let ids = 0
      let mono = 0
      const create = () =>
        new Outbox({
          settings: () => ({ channel: 'ops', minState: 'degraded', groupWaitMs }),
          newId: () => `id-${++ids}`,
        })
      let outbox = create()
      const keep = (notifications: readonly Notification[]) => {
        for (const notification of notifications) disk.set(notification.id, notification)
        outbox.stored(new Set(notifications.map(({ id }) => id)))
      }
      const attempt = (how: 'sent' | 'lost' | 'failed') => {
        const message = outbox.take(NOW + mono, mono)
        if (message === null) return
        // `lost`: it was received, but the answer was not.
        if (how !== 'failed') received.push(message)
        keep(outbox.settle(message, how === 'sent' ? { result: 'sent' } : failure, NOW + mono, mono))
      }
      for (const next of steps) {
        mono += 1
        if (next === 'wait') mono += 20_000
        else if (next === 'restart') {
          outbox = create()
          outbox.restore([...disk.values()], NOW + mono, mono)
        } else if (typeof next === 'string') attempt(next)
        else {
          const subject = `s${next.of}`
          const before = standing.get(subject)
          if (!next.open && before?.open !== true) continue
          const state = next.open ? (next.down ? 'down' : 'degraded') : (before?.state ?? 'down')
          standing.set(subject, { open: next.open, state })
          const report = () => ({ id: subject, state }) as never
          keep(outbox.changed(stateOf(subject, { open: next.open, state, report }), NOW + mono, mono))
        }
      }
      for (let rest = 0; rest < 40; rest++) {
        mono += 20_000
        attempt('sent')
      }

      expect(outbox.waiting()).toEqual([])
      const firsts = received.filter(({ id }, at) => received.findIndex((other) => other.id === id) === at)
      for (const [subject, { open, state }] of standing) {
        const heard = firsts.filter(({ reports }) => reports.some(({ id }) => id === subject))
        let isOpen = false
        for (const { type, saysBoth } of heard) {
          if (type === 'incident.opened') expect(isOpen, 'opened while it was closed').toBe(false)
          else if (!saysBoth) expect(isOpen, `${type} after opened`).toBe(true)
          isOpen = type !== 'incident.closed'
        }
        if (heard.length > 0) expect(isOpen).toBe(open)
        if (open) expect(heard.at(-1)?.reports.find(({ id }) => id === subject)?.state).toBe(state)
      }
    }),
    {
      numRuns: 500,
      examples: [
        [
          [
            { of: 1, open: true, down: false, flaps: false },
            { of: 0, open: true, down: false, flaps: false },
            'restart',
            { of: 0, open: false, down: false, flaps: false },
            'sent',
            { of: 0, open: true, down: false, flaps: false },
          ],
          10_000,
        ],
        [
          [
            { of: 2, open: true, down: false, flaps: false },
            'sent',
            { of: 2, open: false, down: false, flaps: false },
            'restart',
            { of: 2, open: true, down: false, flaps: false },
            'lost',
            { of: 2, open: false, down: false, flaps: false },
          ],
          0,
        ],
      ],
    },
  )
})
