import { describe, expect, test } from 'vitest'
import { type Endpoint, endpointKey } from '../../src/core/endpoint.ts'
import type { Head, Outcome } from '../../src/core/poll-result.ts'
import type { UnixMs } from '../../src/core/time.ts'
import { createNetworkView, type NetworkView } from '../../src/core/verdict/network-view.ts'
import { createIncidentRecorder, type IncidentRecorder } from '../../src/poll/incident-recorder.ts'
import { type BoardEntry, newTally } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { IncidentRecord } from '../../src/store/store.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'
import { recordingLog } from '../support/log.ts'
import { bad, endpoint, good, head, network, pollResult } from '../support/network.ts'

const INTERVAL = 10_000

interface House {
  readonly chronicle: IncidentRecorder
  readonly view: NetworkView
  readonly kept: IncidentRecord[]
  readonly incidents: ReturnType<typeof createIncidentLog>
  readonly log: ReturnType<typeof recordingLog>
  /** All of them are polled, so many times; `height` of one is `null` where it does not answer. */
  poll(rounds: number, height: (of: string) => number | null): void
  /** One of them is polled; all of them share a host. */
  pollShared(name: string, outcome: Outcome<Head>, now: UnixMs): void
}

function house(names = ['a', 'b', 'c']): House {
  const endpoints: Endpoint[] = names.map((name) => endpoint(name))
  const view = createNetworkView(network(), endpoints, START)
  const incidents = createIncidentLog()
  const log = recordingLog()
  const kept: IncidentRecord[] = []
  const chronicle = createIncidentRecorder({ incidents, store: { saveIncident: (record) => kept.push(record) }, log })
  let now = START
  const entries = (): BoardEntry[] =>
    endpoints.map((of) => {
      const health = view.health(of.name)
      if (health === undefined) throw new Error('no health')
      const tally = newTally(of.checks)
      return { key: endpointKey(of), health, tally, availability: null, maintenance: [], places: [], confirmedBy: 0 }
    })

  function poll(rounds: number, height: (of: string) => number | null): void {
    for (let round = 0; round < rounds; round++) {
      now += INTERVAL
      for (const [index, of] of endpoints.entries()) {
        const at = height(of.name)
        const outcome = at === null ? bad({ kind: 'refused' }) : good(head(at, now))
        view.judge(pollResult(of, now, { heads: [{ shard: null, outcome }] }), now)
        chronicle.standing(view, view.halts(now), entries, now)
        const entry = entries()[index]
        if (entry !== undefined) chronicle.judged(view, entry, now, now)
      }
    }
  }

  function pollShared(name: string, outcome: Outcome<Head>, at: UnixMs): void {
    const of = endpoint(name)
    view.judge(pollResult(of, at, { heads: [{ shard: null, outcome }] }), at)
    const entry = entries()[names.indexOf(name)]
    if (entry !== undefined) chronicle.judged(view, entry, at, at, 'host')
  }

  chronicle.configure(endpoints.map((of) => ({ key: 'host', endpoint: of })))
  return { chronicle, view, kept, incidents, log, poll, pollShared }
}

const lines = ({ log }: House) => log.lines.map(({ level, message }) => `${level} ${message}`)

describe('a recorded incident', () => {
  test('goes to the open incidents, to the store and to the log, once for each change', () => {
    const here = house()
    let height = 1000
    here.poll(5, () => height++)
    here.poll(10, (of) => (of === 'a' ? null : height++))
    here.poll(3, () => height++)

    expect(here.kept).toHaveLength(2)
    expect(here.kept.map(({ closedAt }) => closedAt === null)).toEqual([true, false])
    expect(here.kept[1]).toMatchObject({ id: here.kept[0]?.id, network: 'ethereum', endpoint: 'a', absorbed: false })
    expect(here.incidents.recent()).toEqual([here.kept[1]?.value])
    expect(lines(here)).toEqual(['warn incident opened', 'info incident closed'])
    expect(here.log.lines[1]?.fields).toMatchObject({ endpoint: 'a', seconds: 100 })
  })

  test('contains no secret and no text of a node', () => {
    const here = house()
    here.poll(5, () => 1000)
    here.poll(5, (of) => (of === 'a' ? null : 1001))

    for (const { fields } of here.log.lines)
      expect(Object.keys(fields).sort()).toEqual(['endpoint', 'incident', 'network', 'state'])
  })

  test('of a whole network names shards, branches and endpoints', () => {
    const here = house()
    here.poll(20, (of) => (of === 'c' ? null : 1000))

    const [wide] = here.incidents.open().filter((one) => one.endpoint === null)
    expect(wide).toMatchObject({ cause: 'halted', affected: ['a', 'b'] })
    expect(wide?.conditions[0]?.message).toBe('no new block on any of 2 endpoints')
    expect(wide?.changes[0]?.samples.map((sample) => [sample.endpoint, sample.height])).toEqual([
      ['a', 1000],
      ['b', 1000],
    ])
  })
})

describe('an incident of an earlier run', () => {
  test('continues, and is logged again only when it closes', () => {
    const here = house()
    const open = incident({ network: 'ethereum', endpoint: 'a' })
    here.chronicle.restore([incidentRecord(open)], new Map())
    let height = 1000
    here.poll(2, (of) => (of === 'a' ? null : height++))
    expect([here.incidents.open(), lines(here)]).toEqual([[open], []])

    here.poll(3, () => height++)

    expect(here.incidents.open()).toEqual([])
    expect(lines(here)).toEqual(['info incident closed'])
    expect(here.kept.at(-1)?.value).toMatchObject({ id: open.id })
  })

  test.each([
    ['goes on while the endpoint fails', 'bad bad', null],
    ['ends with the first poll if the endpoint has recovered', 'good good', START + INTERVAL],
    ['is not ended by one good poll', 'good bad bad', null],
  ])('begun after the endpoint was saved %s', (_, answers, closedAt) => {
    const here = house()
    const open = incident({ network: 'ethereum', endpoint: 'a' })
    here.chronicle.restore([incidentRecord(open)], new Map())
    const streaks = { verdict: 'up', since: START - 60_000, recent: [], traces: [] } as const
    here.view.restore('a', { streaks, lastPolledAt: START - 10_000, seen: [] }, START)
    let height = 1000

    for (const answer of answers.split(' ')) {
      here.poll(1, (of) => (of === 'a' && answer === 'bad' ? null : height++))
    }

    expect(here.incidents.recent().map(({ id }) => id)).toEqual([open.id])
    expect(here.incidents.recent()[0]?.closedAt).toBe(closedAt)
  })

  test('is ignored if it cannot be read', () => {
    const here = house()
    const odd = { ...incidentRecord(incident()), value: { id: 'incident-1', network: 7 } }

    here.chronicle.restore([odd], new Map())

    expect(here.incidents.recent()).toEqual([])
  })

  test('is closed if its endpoint or network was removed', () => {
    const here = house()
    const gone = incident({ id: 'one', network: 'ethereum', endpoint: 'gone' })
    const halt = incident({ id: 'two', network: 'other', endpoint: null, cause: 'halted', state: 'degraded' })
    here.chronicle.restore([gone, halt].map(incidentRecord), new Map())
    const at = START + 60_000

    here.chronicle.retain(new Set(['ethereum/a']), new Set(['ethereum']), at)

    expect(here.kept.map(({ id, closedAt }) => [id, closedAt])).toEqual([
      ['one', at],
      ['two', at],
    ])
    expect(here.incidents.open()).toEqual([])
  })
})

test('an outage that another endpoint joins does not include one that has an incident of its own', () => {
  const here = house(['a', 'b', 'c', 'd'])
  const affected = ['a', 'b', 'c']
  const outage = incident({ network: 'ethereum', endpoint: null, cause: 'outage', state: 'degraded', affected })
  const own = incident({ id: 'own', network: 'ethereum', endpoint: 'a', openedAt: START + 1 })
  here.chronicle.restore([outage, own].map(incidentRecord), new Map())

  for (let round = 0; round < 5; round++) {
    const at = START + round * INTERVAL
    here.pollShared('a', bad({ kind: 'refused' }), at)
    if (round === 0) continue
    for (const [index, name] of ['d', 'b', 'c'].entries())
      here.pollShared(name, bad({ kind: 'rate-limited', retryAfterMs: null }), at + (index + 1) * 2000)
  }

  const open = new Map(here.incidents.open().map((one) => [one.id, one]))
  expect(open.get(own.id)).toMatchObject({ endpoint: 'a', state: 'down' })
  expect(open.get(outage.id)).toMatchObject({ state: 'degraded', affected: ['a', 'b', 'c', 'd'] })
  expect(open.size).toBe(2)
})

test('an endpoint whose last good poll was before the outage joins it, however late it is polled again', () => {
  const here = house(['a', 'b', 'c', 'd'])
  const refused = bad({ kind: 'refused' })
  for (const name of ['a', 'b', 'c', 'd']) here.pollShared(name, good(head(1000, START)), START)

  for (const round of [1, 2]) {
    for (const name of ['a', 'b', 'c']) here.pollShared(name, refused, START + round * INTERVAL)
  }
  for (const round of [20, 21]) here.pollShared('d', refused, START + round * INTERVAL)

  expect(here.incidents.open()).toMatchObject([{ cause: 'outage', affected: ['a', 'b', 'c', 'd'] }])
})
