import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import { type Incident, MAX_CHANGES } from '../../src/core/incident/incident.ts'
import { createIncidentBook, type IncidentBook } from '../../src/core/incident/incident-book.ts'
import { changeOf, mergeConditions, withPlaces } from '../../src/core/incident/incident-changes.ts'
import type { NetworkEvent } from '../../src/core/incident/network-event.ts'
import type { MaintenanceSpan } from '../../src/core/maintenance.ts'
import { type ConditionCode, type Finding, worst } from '../../src/core/verdict/condition.ts'
import { conditionsOf, confirm, confirmedOnly } from '../../src/core/verdict/confirm.ts'
import { type Health, unpolled } from '../../src/core/verdict/health.ts'
import { readIncident } from '../../src/state/incident-log.ts'
import { endpoint } from '../support/network.ts'

const START = Date.UTC(2026, 0, 1)
const INTERVAL = 10_000
const THRESHOLDS = { failAfter: 2, recoverAfter: 2 }
const NAMES = ['a', 'b', 'c'] as const

const VERDICTS: Partial<Record<ConditionCode, Finding['verdict']>> = {
  unreachable: 'down',
  'bad-answer': 'down',
  lagging: 'degraded',
  slow: 'degraded',
  stalled: 'degraded',
  'clock-skewed': 'up',
}
const CODES = Object.keys(VERDICTS) as ConditionCode[]

/** A sequence of events of a network and its endpoints. */
type Step =
  | { readonly kind: 'poll'; readonly name: string; readonly codes: readonly ConditionCode[]; readonly times: number }
  | { readonly kind: 'lost'; readonly name: string }
  | { readonly kind: 'event'; readonly cause: 'halted' | 'forked'; readonly agoMs: number | null }
  | { readonly kind: 'maintenance'; readonly name: string; readonly forMs: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'remove'; readonly name: string }

const name = fc.constantFrom(...NAMES)
const steps = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('poll' as const),
        name,
        codes: fc.oneof(
          fc.constant([]),
          fc.constant(['lagging'] as const),
          fc.uniqueArray(fc.constantFrom(...CODES), { maxLength: 2 }),
        ),
        times: fc.integer({ min: 1, max: 14 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('lost' as const), name }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('event' as const),
        cause: fc.constantFrom('halted' as const, 'forked' as const),
        agoMs: fc.option(fc.integer({ min: 0, max: 30 * INTERVAL })),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('maintenance' as const),
        name,
        forMs: fc.integer({ min: 0, max: 20 * INTERVAL }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), name: fc.constant('c' as const) }) },
  ),
  { minLength: 1, maxLength: 80, size: 'max' },
)

interface Run {
  /** The latest version of every incident, by id. */
  readonly incidents: ReadonlyMap<string, Incident>
  /** Every change, in order. */
  readonly changes: readonly Incident[]
}

/** `check` sees every change at once. */
function play(
  script: readonly Step[],
  restarts: boolean,
  check: (run: Run, incident: Incident) => void = () => {},
): Run {
  let book: IncidentBook = createIncidentBook()
  let now = START
  const there = new Set<string>(NAMES)
  const healths = new Map<string, Health>(NAMES.map((of) => [of, unpolled(endpoint(of), START)]))
  const planned = new Map<string, MaintenanceSpan>()
  /** As it is saved with the health of each endpoint. */
  const maintained = new Map<EndpointKey, MaintenanceSpan>()
  const events = new Map<NetworkEvent['cause'], NetworkEvent>()
  const incidents = new Map<string, Incident>()
  const changes: Incident[] = []
  const confirmationOf = (key: EndpointKey) =>
    [...healths.values()].find((health) => endpointKey(health.endpoint) === key)?.confirmation ?? null
  const keys = () => new Set<EndpointKey>([...there].map((of) => endpointKey({ network: 'ethereum', name: of })))

  function take(changed: readonly Incident[]): void {
    for (const incident of changed) {
      incidents.set(incident.id, incident)
      changes.push(incident)
      check({ incidents, changes }, incident)
    }
  }

  function shorten(): void {
    const at = Math.floor(now)
    for (const [key, { from, until }] of maintained) maintained.set(key, { from, until: Math.min(until, at) })
  }

  function poll(of: string, codes: readonly ConditionCode[]): void {
    now += INTERVAL / NAMES.length
    const before = healths.get(of)
    if (before === undefined || !there.has(of)) return
    const at = Math.floor(now)
    const findings = codes.map((code) => ({ code, verdict: VERDICTS[code] ?? 'up', message: code }))
    const confirmation = confirm(before.confirmation, findings, at, THRESHOLDS)
    const health = {
      ...before,
      verdict: confirmation.verdict,
      since: confirmation.since,
      conditions: conditionsOf(confirmation),
      confirmation,
    }
    healths.set(of, health)
    const span = planned.get(of)
    const present = span !== undefined && span.until > at ? span : null
    if (present !== null) maintained.set(endpointKey(health.endpoint), present)
    const { recoverAfter } = THRESHOLDS
    const goneSince = confirmation.recent.at(-recoverAfter)?.at ?? at
    take(
      book.network({
        open: book.networkWide('ethereum'),
        name: 'ethereum',
        now: at,
        events: [...events.values()].map((event) => ({
          ...event,
          continues: book.networkWide('ethereum').find(({ cause }) => cause === event.cause)?.id ?? null,
        })),
        samples: [],
        endOf: () => at,
      }),
    )
    take(
      book.endpoint({
        health,
        at,
        now: at,
        goneSince,
        recoverAfter,
        maintained: present,
        outage: undefined,
      }),
    )
  }

  for (const step of script) {
    switch (step.kind) {
      case 'poll':
        for (let time = 0; time < step.times; time++) poll(step.name, step.codes)
        break
      case 'lost': {
        const health = healths.get(step.name)
        if (health !== undefined)
          healths.set(step.name, { ...health, confirmation: confirmedOnly(health.confirmation) })
        break
      }
      case 'event':
        if (step.agoMs === null) events.delete(step.cause)
        else
          events.set(step.cause, {
            cause: step.cause,
            continues: null,
            key: step.cause,
            provider: null,
            plannedUntil: null,
            intervalMs: null,
            state: 'degraded',
            code: step.cause,
            since: Math.floor(now) - step.agoMs,
            message: step.cause,
            affected: ['a', 'b'],
            maintained: null,
          })
        break
      case 'maintenance': {
        // Like a second window that overlaps the first one.
        const from = Math.floor(now)
        const before = planned.get(step.name)
        const isLonger = before !== undefined && before.until >= from
        planned.set(step.name, { from: isLonger ? before.from : from, until: from + step.forMs })
        break
      }
      case 'remove':
        there.delete(step.name)
        shorten()
        take(book.retain(keys(), new Set(['ethereum']), Math.floor(now)))
        break
      case 'restart':
        if (restarts) {
          book = createIncidentBook()
          const kept = JSON.parse(JSON.stringify([...incidents.values()])) as Incident[]
          book.restore(
            kept,
            new Map([...maintained].map(([key, span]) => [key, { span, confirmation: confirmationOf(key) }])),
          )
        }
        shorten()
        take(book.retain(keys(), new Set(['ethereum']), Math.floor(now)))
    }
  }
  return { incidents, changes }
}

describe('whatever happens', () => {
  test('the places of an incident are those that ever saw its fault, in order, and the same list if none joins', () => {
    const one = withPlaces([], ['nyc1'])
    const two = withPlaces(one, ['fra1', 'nyc1'])

    expect(two).toEqual(['fra1', 'nyc1'])
    expect(withPlaces(two, ['nyc1'])).toBe(two)
    expect(withPlaces(two, [])).toBe(two)
  })

  test('an endpoint has at most one open incident, and every incident is consistent', { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(steps, (script) => {
        const openedAt = new Map<string, number>()
        play(script, true, ({ incidents }, incident) => {
          const open = [...incidents.values()].filter(({ closedAt }) => closedAt === null)
          const owners = open.map(({ endpoint: of, cause }) => of ?? cause)
          expect(new Set(owners).size).toBe(owners.length)

          const { id, endpoint: of, confirmedAt, closedAt, conditions, changes } = incident
          expect(openedAt.get(id) ?? incident.openedAt).toBe(incident.openedAt)
          openedAt.set(id, incident.openedAt)
          const end = closedAt ?? Number.POSITIVE_INFINITY
          expect(incident.openedAt).toBeLessThanOrEqual(confirmedAt)
          expect(confirmedAt).toBeLessThanOrEqual(end)
          expect(incident.state).not.toBe('up')
          for (const { since, until } of conditions) {
            expect(since).toBeGreaterThanOrEqual(incident.openedAt)
            expect(until ?? end).toBeLessThanOrEqual(end)
            expect(until ?? end).toBeGreaterThanOrEqual(since)
            expect(closedAt === null || until !== null).toBe(true)
          }
          const holding = conditions.flatMap(({ state, until }) => (until === null ? [state] : []))
          if (of !== null && closedAt === null) expect(worst(holding)).toBe(changes.at(-1)?.state)
          const times = changes.map(({ at }) => at)
          expect(times).toEqual(times.toSorted((a, b) => a - b))
          expect(times[0]).toBe(incident.openedAt)
          expect(times.at(-1)).toBeLessThanOrEqual(end)
          expect(changes.length).toBeLessThanOrEqual(MAX_CHANGES)
          expect(readIncident(JSON.parse(JSON.stringify(incident)))).toEqual(incident)
        })
      }),
      { numRuns: 200, seed: 20_261_121 },
    )
  })

  test('a restart in the middle changes nothing', () => {
    fc.assert(
      fc.property(steps, (script) => {
        expect(play(script, true).changes).toEqual(play(script, false).changes)
      }),
      { numRuns: 200, seed: 20_261_121 },
    )
  })

  test('an open incident has the confirmed conditions, and an endpoint that is up has one only if it flaps', () => {
    fc.assert(
      fc.property(
        steps.map((script) => script.filter(({ kind }) => kind === 'poll' || kind === 'lost')),
        (script) => {
          const wellAgain: Step[] = NAMES.map((of) => ({ kind: 'poll', name: of, codes: [], times: 45 }))
          const { incidents } = play([...script, ...wellAgain], true)

          expect([...incidents.values()].filter(({ closedAt }) => closedAt === null)).toEqual([])
        },
      ),
      { numRuns: 200, seed: 20_261_121 },
    )
  })
})

test('a flapping incident is not reopened after another incident in between', () => {
  const poll = (codes: readonly ConditionCode[], times: number): Step => ({ kind: 'poll', name: 'a', codes, times })
  const flaps = Array.from({ length: 4 }, () => [poll(['unreachable'], 3), poll([], 9)]).flat()
  const calm = poll([], 150)
  const { incidents } = play([...flaps, calm, poll(['slow'], 9), calm, poll(['unreachable'], 9)], false)

  const all = [...incidents.values()]
  expect(all.map(({ conditions }) => conditions.at(-1)?.code)).toEqual([
    'unreachable',
    'unreachable',
    'unreachable',
    'slow',
    'unreachable',
  ])
  expect(all.map(({ closedAt }) => closedAt === null)).toEqual([false, false, false, false, true])
})

test('an endpoint that stays up changes nothing', () => {
  const { changes } = play([{ kind: 'poll', name: 'a', codes: ['clock-skewed'], times: 100 }], false)

  expect(changes).toEqual([])
})

test('a partial outage changes if a place says something else, not with a number in its reason', () => {
  const times = { from: START, goneSince: START, changedSince: START }
  const partial = (message: string) => [{ code: 'partial', verdict: 'degraded', message, since: START } as const]
  const before = mergeConditions(
    [],
    partial('down from a only: 120 blocks (240 s) behind; up from b'),
    'degraded',
    times,
  )

  const later = partial('down from a only: 121 blocks (242 s) behind; up from b')
  const other = partial('down from a only: 121 blocks (242 s) behind; degraded from b')

  expect(mergeConditions(before, later, 'degraded', times)).toBe(before)
  expect(mergeConditions(before, other, 'degraded', times)).toMatchObject([{ message: other[0]?.message, until: null }])
})

test('a new number in a sentence is no change', () => {
  const { changes } = play([{ kind: 'poll', name: 'a', codes: ['lagging'], times: 50 }], false)

  expect(changes).toHaveLength(1)
})

test('a head that the poll could not read is measured neither by its last lag nor by the latency of another check', () => {
  const head = { hash: 'h', parentHash: 'p', timestamp: START, lagBlocks: 0, lagMs: 0, advancedAt: START }
  const polled: Health = {
    ...unpolled(endpoint('a', { shards: [0, 1] }), START),
    lastPolledAt: START + INTERVAL,
    latencyMs: 20,
    heads: [
      { ...head, shard: 0, height: 100, readAt: START },
      { ...head, shard: 1, height: 200, readAt: START + INTERVAL },
    ],
  }
  const failure = { code: 'bad-answer', verdict: 'down', message: 'answered HTTP 503', since: START } as const

  const lost = { endpoint: 'a', shard: 0, height: 100, lagBlocks: null, latencyMs: null }
  const read = { endpoint: 'a', shard: 1, height: 200, lagBlocks: 0, latencyMs: 20 }
  const measured = (health: Health) => changeOf(health, 'down', START).samples
  expect(measured({ ...polled, conditions: [failure] })).toEqual([lost, read])
  // Of several places, one was polled later than the one whose head is shown.
  expect(measured(polled)).toEqual([{ ...lost, lagBlocks: 0, latencyMs: 20 }, read])
})
