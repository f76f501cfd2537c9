import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HistoryQuery, PollRecord } from '../../src/store/store.ts'
import type { WriteEvent } from '../../src/store/write-events.ts'
import { everyEngine, type Parts } from './engines.ts'
import { type Step, steps } from './history-steps.ts'
import { BASE, batchOf, DAY_MS, HOUR_MS, pollOf } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'
const OTHER = 'ethereum/own-2'
const MINUTE_MS = 60_000

const engines = everyEngine()
const reference = engines.find(({ name }) => name === 'in memory')
const others = engines.filter(({ name }) => name === 'in PostgreSQL')

const verdictOf = (state: PollRecord['state'], fresh: boolean) =>
  ['up', 'degraded', 'down', 'unknown'].indexOf(state) + (fresh ? 0 : 4)

/** Tells the steps to the store, the polls of some steps together with an amendment, as in a batch. */
async function tell(parts: Parts, list: readonly Step[]): Promise<number> {
  const register = (holdMs: number, at: number): WriteEvent => ({
    kind: 'register',
    registrations: [
      { index: 0, endpoint: ENDPOINT, holdMs, at },
      { index: 1, endpoint: OTHER, holdMs: 40_000, at },
    ],
  })
  await parts.write(batchOf([], [register(30_000, BASE)]))
  let now = BASE
  let waiting: (PollRecord & { index?: number })[] = []
  const flush = async (...events: WriteEvent[]) => {
    await parts.write(batchOf(waiting, events))
    waiting = []
  }
  for (const step of list) {
    switch (step.kind) {
      case 'poll':
        now += step.gapMs
        waiting.push(pollOf(now, step.record), { ...pollOf(now, { endpoint: OTHER }), index: 1 })
        break
      case 'late':
        waiting.push(pollOf(Math.max(BASE, now - step.backMs), step.record))
        break
      case 'amend': {
        const verdict = verdictOf(step.state, step.fresh)
        await flush({ kind: 'amend', index: 0, from: now - step.backMs, to: now, verdict })
        break
      }
      case 'hold':
        await flush(register(step.holdMs, now + 1))
        break
      case 'maintain': {
        // Of one endpoint, or of both alike.
        const concerned = step.periods.length === 2 ? [ENDPOINT] : [ENDPOINT, OTHER]
        const periods = step.periods.flatMap(({ startMs, lengthMs }) =>
          concerned.map((endpoint) => ({ endpoint, from: now + startMs, until: now + startMs + lengthMs })),
        )
        await flush({ kind: 'maintain', at: now, periods })
        break
      }
      case 'roll-up':
        await flush()
        await parts.rollUp(now)
        break
    }
  }
  await flush()
  return now
}

async function answersOf({ read }: Parts, queries: readonly HistoryQuery[], now: number) {
  const histories = []
  for (const query of queries) histories.push(await read.history(query, now))
  const availability = await read.availability([ENDPOINT, OTHER, 'unknown/one'], now)
  const polls = await read.polls({ endpoint: ENDPOINT, from: BASE - DAY_MS, to: now, limit: 1000 })
  return { histories, availability: [...availability].sort(([a], [b]) => (a < b ? -1 : 1)), polls }
}

const queriesUntil = (now: number): HistoryQuery[] =>
  [
    ...[7 * MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, DAY_MS].map((stepMs) => [ENDPOINT, stepMs] as const),
    [OTHER, 5 * MINUTE_MS] as const,
  ].map(([endpoint, stepMs]) => {
    const from = Math.floor(BASE / DAY_MS) * DAY_MS
    return { endpoint, from, to: Math.min(now + HOUR_MS, from + 500 * stepMs), stepMs }
  })

describe.skipIf(others.length === 0)('PostgreSQL', () => {
  test('answers like SQLite after any polls, amendments, holds, plans and roll-ups, and after every retention', async () => {
    const [sqlite, postgres] = await Promise.all([reference?.bench(), others[0]?.bench()])
    if (sqlite === undefined || postgres === undefined) throw new Error('an engine is missing')

    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        await Promise.all([sqlite.clear(), postgres.clear()])
        const now = await tell(sqlite, list)
        await tell(postgres, list)

        for (const passMs of [0, 10 * MINUTE_MS, DAY_MS, 3 * DAY_MS, 4 * DAY_MS, 39 * DAY_MS, 40 * DAY_MS]) {
          if (passMs > 0) for (const parts of [sqlite, postgres]) await parts.rollUp(now + passMs)
          if (passMs >= DAY_MS) for (const parts of [sqlite, postgres]) await parts.retain(now + passMs)
          const queries = queriesUntil(now)
          const at = now + passMs
          expect(await answersOf(postgres, queries, at)).toEqual(await answersOf(sqlite, queries, at))
        }
      }),
      { numRuns: 12 },
    )
  })
})
