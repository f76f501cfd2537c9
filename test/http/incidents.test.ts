import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { DAY_MS } from '../../src/core/time.ts'
import { createIncidentSource } from '../../src/http/incident-source.ts'
import { ProblemView } from '../../src/http/wire/common.ts'
import { IncidentListView, IncidentView } from '../../src/http/wire/incidents.ts'
import { Secret } from '../../src/secret.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Unreadable } from '../../src/store/reads.ts'
import type { IncidentRecord, Store, StoreTrouble } from '../../src/store/store.ts'
import { lines, opened, RETENTION, temporaryDirectory } from '../store/setting.ts'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { change, condition, incident, incidentRecord, START } from '../support/incident.ts'
import { recordingLog } from '../support/log.ts'
import { QUIET_STORE } from '../support/world.ts'
import { type Setting, type SettingOptions, setUp } from './setting.ts'

const open: Setting[] = []
afterEach(async () => {
  for (const { server } of open.splice(0)) await server.close()
})

/** A server with these incidents in a real store. */
async function kept(incidents: readonly Incident[], over: SettingOptions = {}): Promise<Setting & { store: Store }> {
  const { store } = await opened({ path: `${temporaryDirectory()}/heartline.db` })
  for (const one of incidents) store.saveIncident(incidentRecord(one))
  await store.flush()
  const setting = setUp({ ...over, store })
  open.push(setting)
  return { ...setting, store }
}

/** As `kept`, for all tests of a `describe`, which only read. */
function keptForAll(incidents: readonly Incident[]): () => Setting {
  const folder = temporaryFolder()
  let store: Store
  let setting: Setting
  beforeAll(async () => {
    const path = `${folder}/heartline.db`
    store = await openStore({ path, retention: RETENTION, maxSizeBytes: 1e9, clock: systemClock, log: lines() })
    for (const one of incidents) store.saveIncident(incidentRecord(one))
    await store.flush()
    setting = setUp({ store })
  })
  afterAll(async () => {
    await setting?.server.close()
    await store?.close()
    removeFolder(folder)
  })
  return () => setting
}

/** As `here`, for all tests of a `describe`, which only read. */
function hereForAll(incidents: readonly Incident[]): Setting {
  const setting = setUp()
  for (const one of incidents) setting.incidents.put(one)
  afterAll(() => setting.server.close())
  return setting
}

/** A server with these incidents in memory only. */
function here(incidents: readonly Incident[], over: SettingOptions = {}): Setting {
  const setting = setUp(over)
  for (const one of incidents) setting.incidents.put(one)
  open.push(setting)
  return setting
}

async function list({ server }: Pick<Setting, 'server'>, query = ''): Promise<IncidentListView> {
  const answer = await server.inject(`/api/v1/incidents${query}`)
  expect(answer.statusCode, answer.body).toBe(200)
  return IncidentListView.strict().parse(answer.json())
}

const ids = ({ incidents }: IncidentListView) => incidents.map(({ id }) => id)

const FIVE = [
  incident({ id: 'a', openedAt: START, closedAt: START + 60_000 }),
  incident({ id: 'b', openedAt: START + 1000, endpoint: 'own-2' }),
  incident({ id: 'c', openedAt: START + 1000, network: 'ethereum', endpoint: 'node' }),
  incident({ id: 'd', openedAt: START + 2000, endpoint: null, cause: 'halted', affected: ['own-1', 'own-2'] }),
  incident({ id: 'e', openedAt: START + 3000, endpoint: 'own-1', absorbedBy: 'd' }),
]
const OUTAGES = [
  incident({ id: 'a', openedAt: START }),
  incident({ id: 'f', openedAt: START + 4000, endpoint: null, cause: 'outage', affected: ['own-1', 'own-2'] }),
  incident({ id: 'g', openedAt: START + 5000, endpoint: null, cause: 'outage', affected: ['own-2', 'own-3'] }),
]

describe('/api/v1/incidents', () => {
  const [storedFive, storedOutages] = [keptForAll(FIVE), keptForAll(OUTAGES)]
  const [freshFive, freshOutages] = [hereForAll(FIVE), hereForAll(OUTAGES)]

  test('lists the newest first, without parts of others', async () => {
    expect(ids(await list(storedFive()))).toEqual(['d', 'c', 'b', 'a'])
  })

  test('lists the parts of one on request', async () => {
    expect(ids(await list(storedFive(), '?part_of=d'))).toEqual(['e'])
    expect(ids(await list(storedFive(), '?part_of=a'))).toEqual([])
  })

  test('has all fields of the contract, and no changes', async () => {
    const closed = incident({
      openedAt: START,
      closedAt: START + 90_500,
      conditions: [condition({ until: START + 90_500 })],
      flapping: true,
      flaps: 4,
    })

    const { incidents, next_cursor } = await list(await kept([closed]))

    expect(next_cursor).toBeNull()
    expect(incidents).toEqual([
      {
        id: 'incident-1',
        network: 'avalanche',
        endpoint: 'own-1',
        cause: 'endpoint',
        scope: 'endpoint',
        provider: null,
        state: 'down',
        conditions: [
          {
            code: 'unreachable',
            state: 'down',
            message: 'connection refused',
            since: '2026-01-01T00:00:00.000Z',
            until: '2026-01-01T00:01:30.500Z',
          },
        ],
        opened_at: '2026-01-01T00:00:00.000Z',
        planned_until: null,
        confirmed_at: '2026-01-01T00:00:10.000Z',
        closed_at: '2026-01-01T00:01:30.500Z',
        duration_seconds: 90.5,
        flapping: true,
        flaps: 4,
        affected: [],
        vantages: ['default'],
        absorbed_by: null,
        notifications: [],
      },
    ])
  })

  test('tells the public of a standstill without a comparison by its mark, whatever a message ends with', async () => {
    const unknown =
      'without another endpoint at this height it is unknown whether the endpoint or the chain has stopped'
    const stalled = { code: 'stalled', state: 'degraded' } as const
    const closed = { openedAt: START, closedAt: START + 60_000 }
    const alone = incident({ ...closed, id: 'a', conditions: [condition({ ...stalled, isAlone: true })] })
    const behind = incident({ ...closed, id: 'b', conditions: [condition({ ...stalled, message: unknown })] })

    const { incidents } = await list(await kept([alone, behind], { options: { token: new Secret('a'.repeat(20)) } }))

    expect(incidents.map(({ conditions: [one] }) => one?.message)).toEqual([
      'no new block while the network advances',
      `no new block; ${unknown}`,
    ])
  })

  test.each([
    ['?network=avalanche&endpoint=own-1', ['f', 'a']],
    ['?endpoint=own-3&limit=1', ['g']],
    ['?endpoint=own', []],
  ])('%s lists the outages of that endpoint too, also before the store has any', async (query, expected) => {
    expect(ids(await list(storedOutages(), query))).toEqual(expected)
    expect(ids(await list(freshOutages, query))).toEqual(expected)
  })

  test('only readers with the token make the store search for an endpoint that was removed', async () => {
    const removed = [incident({ id: 'a', endpoint: 'own-9', openedAt: START, closedAt: START + 60_000 })]
    const token = new Secret('a'.repeat(20))
    const { server, store } = await kept(removed, { options: { token, public: true } })
    await store.flush()

    const withToken = await server.inject({
      url: '/api/v1/incidents?endpoint=own-9',
      headers: { authorization: `Bearer ${token.reveal()}` },
    })

    expect(withToken.json<IncidentListView>().incidents.map(({ id }) => id)).toEqual(['a'])
    expect(ids(await list({ server }, '?endpoint=own-9'))).toEqual([])
  })

  test.each([
    ['?network=avalanche', ['d', 'b', 'a']],
    ['?network=ethereum', ['c']],
    ['?endpoint=own-2', ['b']],
    ['?network=avalanche&endpoint=own-1', ['a']],
    ['?open=true', ['d', 'c', 'b']],
    ['?open=false', ['a']],
    ['?network=gone', []],
    ['?condition=unreachable', ['d', 'c', 'b', 'a']],
    ['?condition=lagging', []],
    ['?to=2026-01-01T00:00:00Z', []],
    ['?to=2026-01-01T00:00:01Z', ['a']],
    [`?from=${START / 1000 + 60}`, ['d', 'c', 'b']],
    [`?from=${START / 1000 + 59}&to=${START / 1000 + 2}&network=avalanche`, ['b', 'a']],
    ['?network=ethereum&endpoint=own-1', []],
  ])('%s lists %j, also before the store has any', async (query, expected) => {
    expect(ids(await list(storedFive(), query))).toEqual(expected)
    expect(ids(await list(freshFive, query))).toEqual(expected)
  })

  test.each([
    ['?open=yes', ['open']],
    ['?limit=0', ['limit']],
    ['?limit=201', ['limit']],
    ['?limit=1e1&network=Own_1&cursor=nonsense', ['limit', 'network', 'cursor']],
    ['?endpoint=', ['endpoint']],
    ['?cursor=', ['cursor']],
    // Not what a page ends with, and no query for PostgreSQL: `1.5 a`, `1 a\0`.
    ['?cursor=MS41IGE', ['cursor']],
    ['?cursor=MSBhAA', ['cursor']],
    ['?part_of=a%00', ['part_of']],
    ['?state=down', ['state']],
    ['?from=yesterday&to=', ['from', 'to']],
    ['?condition=no-such', ['condition']],
    ['?limit=1&limit=2', ['limit']],
  ])('%s is rejected, naming %j', async (query, names) => {
    const answer = await freshFive.server.inject(`/api/v1/incidents${query}`)

    expect(answer.statusCode).toBe(400)
    const problem = ProblemView.strict().parse(answer.json())
    expect(problem.errors?.map(({ parameter }) => parameter)).toEqual(names)
  })

  test('pages of two list each incident once, even if one closes and one opens in between', async () => {
    const setting = await kept(FIVE)

    const first = await list(setting, '?limit=2')
    setting.incidents.put(incident({ id: 'f', openedAt: START + 9000 }))
    setting.incidents.put({ ...(FIVE[1] as Incident), closedAt: START + 99_000 })
    const second = await list(setting, `?limit=2&cursor=${first.next_cursor}`)

    expect([ids(first), ids(second), second.next_cursor]).toEqual([['d', 'c'], ['b', 'a'], null])
    expect(second.incidents[0]?.closed_at).toBe('2026-01-01T00:01:39.000Z')
  })

  test('an incident changed since it was stored is listed in its present state', async () => {
    const setting = await kept(FIVE)

    setting.incidents.put({ ...(FIVE[1] as Incident), closedAt: START + 99_000 })
    setting.incidents.put({ ...(FIVE[2] as Incident), absorbedBy: 'x' })

    expect(ids(await list(setting))).toEqual(['d', 'b', 'a'])
    expect(ids(await list(setting, '?open=true'))).toEqual(['d'])
    expect(ids(await list(setting, '?open=false'))).toEqual(['b', 'a'])
  })

  test('without a readable store, incidents in memory are still listed', async () => {
    const broken = () => Promise.reject(new Unreadable('the incidents', '/var/lib/x.db'))
    const setting = here([incident()], { store: { incidents: broken, incident: broken } })

    expect(ids(await list(setting))).toEqual(['incident-1'])
    expect((await setting.server.inject('/api/v1/incidents/incident-1')).statusCode).toBe(200)
    expect((await setting.server.inject('/api/v1/incidents/other')).statusCode).toBe(503)
    expect(JSON.stringify(setting.log.lines)).not.toContain('/var/lib')
  })

  test('stored incidents of another version are skipped, and paging continues after them', async () => {
    const setting = await kept(FIVE)
    for (let at = 0; at < 100; at++) {
      const id = `odd-${at}`
      setting.store.saveIncident({ ...incidentRecord(incident({ id, openedAt: START + 5000 + at })), value: { id } })
    }
    await setting.store.flush()

    expect(ids(await list(setting, '?limit=3'))).toEqual(['d', 'c', 'b'])
  })
})

test('however log and store differ, the pages list each incident once, in order, in its present state', async () => {
  const one = fc.record({
    at: fc.integer({ min: 0, max: 5 }),
    stored: fc.boolean(),
    storedOpen: fc.boolean(),
    logged: fc.boolean(),
    open: fc.boolean(),
    absorbed: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(one, { maxLength: 60 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(undefined, true, false),
      async (plans, limit, wanted) => {
        const log = createIncidentLog()
        const records: IncidentRecord[] = []
        const truth: Incident[] = []
        for (const [at, plan] of plans.entries()) {
          const closed = (isOpen: boolean) => (isOpen ? null : START + 100_000)
          const base = incident({ id: `i-${at}`, openedAt: START + plan.at })
          const stored = { ...base, closedAt: closed(plan.storedOpen) }
          const now = { ...base, closedAt: closed(plan.open), absorbedBy: plan.absorbed ? 'x' : null }
          if (plan.stored) records.push(incidentRecord(stored))
          if (plan.logged) log.put(now)
          if (plan.logged ? !plan.absorbed : plan.stored) truth.push(plan.logged ? now : stored)
        }
        const source = createIncidentSource({
          store: { incidents: async (query) => select(records, query), incident: async () => null },
          storeStatus: () => QUIET_STORE,
          incidents: log,
          clock: createFakeClock(),
          log: recordingLog(),
        })

        const seen: Incident[] = []
        let after: Incident | undefined
        for (let page = 0; page < 100; page++) {
          const { incidents, next } = await source.list({ open: wanted, limit, after })
          seen.push(...incidents)
          if (next === null) break
          expect(incidents).toHaveLength(limit)
          after = incidents.at(-1)
        }

        const expected = truth.filter(({ closedAt }) => wanted === undefined || (closedAt === null) === wanted)
        expect(seen).toEqual(expected.sort(newestFirst))
      },
    ),
    { numRuns: 100 },
  )
})

describe('an incident in memory that the store has deleted', () => {
  const deleted = incident({ id: 'deleted', openedAt: START, closedAt: START + 60_000 })
  const running = incident({ id: 'open', openedAt: START + 1000 })
  const unreadable = () => Promise.reject(new Unreadable('the incidents', '/var/lib/x.db'))

  function sourceOf(trouble: StoreTrouble | null, isReadable = true) {
    const clock = createFakeClock()
    const incidents = createIncidentLog()
    for (const one of [deleted, running]) incidents.put(one)
    const source = createIncidentSource({
      store: isReadable
        ? { incidents: async () => [], incident: async () => null }
        : { incidents: unreadable, incident: unreadable },
      storeStatus: () => ({ ...QUIET_STORE, trouble }),
      incidents,
      clock,
      log: recordingLog(),
    })
    const seen = async () => [
      (await source.list({ limit: 10 })).incidents.map(({ id }) => id),
      (await source.one('deleted'))?.id,
    ]
    return { clock, seen }
  }

  test('is shown until a day after its end, because its row may not be written yet', async () => {
    const { clock, seen } = sourceOf(null)

    await clock.advance(DAY_MS)
    expect(await seen()).toEqual([['open', 'deleted'], 'deleted'])
    await clock.advance(60_000)
    expect(await seen()).toEqual([['open'], undefined])
  })

  test.each([
    ['written', sourceOf('full')],
    ['read', sourceOf(null, false)],
  ])('is shown as long as the store cannot be %s', async (_, { clock, seen }) => {
    await clock.advance(3 * DAY_MS)

    expect(await seen()).toEqual([['open', 'deleted'], 'deleted'])
  })
})

describe('/api/v1/incidents/:id', () => {
  const one = hereForAll([incident()])

  test('has the changes of one incident with their samples', async () => {
    const { server } = here([incident({ absorbedBy: 'd', changes: [change({ at: START + 500 })] })])

    const answer = await server.inject('/api/v1/incidents/incident-1')

    const view = IncidentView.strict().parse(answer.json())
    expect([view.absorbed_by, view.duration_seconds, view.closed_at]).toEqual(['d', null, null])
    expect(view.changes).toEqual([
      {
        at: '2026-01-01T00:00:00.500Z',
        state: 'down',
        codes: ['unreachable'],
        samples: [{ endpoint: 'own-1', shard: null, height: 1000, lag_blocks: 12, latency_seconds: null }],
      },
    ])
  })

  test.each(['/api/v1/incidents/none', '/api/v1/incidents/none.txt', '/api/v1/incidents/.txt'])(
    '%s is not found',
    async (url) => {
      const answer = await one.server.inject(url)

      expect(answer.statusCode).toBe(404)
      ProblemView.strict().parse(answer.json())
    },
  )

  test.each([
    [undefined, 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json; charset=utf-8'],
    ['text/plain', 'text/plain; charset=utf-8'],
    ['text/*', 'text/plain; charset=utf-8'],
    ['application/json;q=0.5, text/plain', 'text/plain; charset=utf-8'],
    ['application/json, text/plain;q=0.5', 'application/json; charset=utf-8'],
    ['text/plain, */*', 'application/json; charset=utf-8'],
  ])('with accept %j is %s', async (accept, type) => {
    const headers = accept === undefined ? {} : { accept }

    const answer = await one.server.inject({ url: '/api/v1/incidents/incident-1', headers })

    expect([answer.statusCode, answer.headers['content-type'], answer.headers.vary]).toEqual([200, type, 'Accept'])
  })

  test('of an endpoint named txt exists in both forms', async () => {
    const { server } = here([incident({ id: '0-avalanche.txt' })])
    const typeOf = async (path: string) => (await server.inject(`/api/v1/incidents/${path}`)).headers['content-type']

    expect(await typeOf('0-avalanche.txt')).toContain('json')
    expect(await typeOf('0-avalanche.txt.txt')).toContain('text/plain')
  })

  test('its .txt is the post-mortem, with figures from the history', async () => {
    const { server, store, clock } = await kept([incident({ openedAt: START, closedAt: START + 60_000 })])
    await pollAround(store)
    await clock.advance(600_000)

    const answer = await server.inject('/api/v1/incidents/incident-1.txt')

    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(answer.body).toContain('avalanche/own-1 down for 1 min\n')
    expect(answer.body).toContain('Own node 1 of Avalanche (avalanche/own-1)')
    expect(answer.body).toContain('during down 1 min\n')
    expect(answer.body).toMatch(/before +4,999 +0 +\d/)
    expect(answer.body).toContain('all times are UTC')
    const local = await server.inject('/api/v1/incidents/incident-1.txt?zone=Europe/Berlin')
    expect(local.body).toContain('Began      2026-01-01 01:00:00')
    expect(local.body).toContain('all times are Europe/Berlin')
    const nowhere = await server.inject('/api/v1/incidents/incident-1.txt?zone=Mars')
    expect([nowhere.statusCode, nowhere.body]).toEqual([
      400,
      expect.stringContaining('must be a time zone such as UTC'),
    ])
    expect(answer.body).not.toContain('Single polls')
  })

  test('its post-mortem says that its figures are those of whole steps once its polls are gone', async () => {
    const { server, store, clock } = await kept([incident({ openedAt: START, closedAt: START + 60_000 })])
    await pollAround(store)
    await clock.advance(3 * 86_400_000)
    await store.run('roll-up', clock.now())
    await store.run('retention', clock.now())

    const { body } = await server.inject('/api/v1/incidents/incident-1.txt')

    expect(body).toContain('avalanche/own-1 down for 1 min\n')
    expect(body).toContain('during down 12 s, up 14 s, unknown 34 s\n')
    expect(body.replaceAll(/\s+/g, ' ')).toContain(
      'Single polls of that time are no longer kept: its figures are those of whole steps of five minutes or an hour',
    )
  })

  /** Ten minutes before an incident of a minute, and one after it. */
  async function pollAround(store: Store): Promise<void> {
    const endpoint = 'avalanche/own-1'
    store.register([{ endpoint, holdMs: 20_000 }], START - 600_000)
    for (let at = -60; at < 12; at++) {
      const state = at >= 0 && at < 6 ? 'down' : 'up'
      store.poll({
        endpoint,
        at: START + at * 10_000,
        state,
        fresh: true,
        latencyMs: state === 'up' ? 12 : null,
        height: 5000 + at,
        lagBlocks: 0,
        heartbeatLagMs: null,
        contiguousFailures: null,
        failure: null,
      })
    }
    await store.flush()
  }
})

describe('without the token', () => {
  const token = new Secret('canary-of-the-token')
  const bearer = { authorization: 'Bearer canary-of-the-token' }
  const secrets = incident({
    conditions: [condition({ message: 'canary words of the node' })],
    changes: [
      change({ samples: [{ endpoint: 'own-1', shard: null, height: 777_777, lagBlocks: 31_337, latencyMs: 4242 }] }),
    ],
  })

  test('an incident shows names, states, times and codes, but no message of a node and no measurement', async () => {
    const { server } = await kept([secrets], { options: { token } })
    const urls = ['', '/incident-1', '/incident-1.txt'].map((path) => `/api/v1/incidents${path}`)

    for (const url of [...urls, '/feed.xml']) {
      const { statusCode, body, headers } = await server.inject(url)
      expect([statusCode, headers.vary], url).toEqual([200, expect.stringContaining('Authorization')])
      expect(body).toContain('no answer')
      expect(body).not.toMatch(/canary|777,?777|31,?337|4[.,]?242/)
      const all = await server.inject({ url, headers: bearer })
      expect(all.body).toContain('canary words of the node')
    }
  })

  test('a halted and a forked chain have their own general messages', async () => {
    const forked = incident({ id: 'f', cause: 'forked', endpoint: null, conditions: [condition({ code: 'forked' })] })
    const halted = incident({ id: 'h', cause: 'halted', endpoint: null, conditions: [condition({ code: 'halted' })] })
    const setting = here([forked, halted], { options: { token } })

    const { incidents } = await list(setting)

    expect(incidents.map(({ conditions }) => conditions[0]?.message)).toEqual([
      'no endpoint reports a new block',
      'the endpoints disagree on the chain',
    ])
  })

  test.each(['/api/v1/incidents', '/api/v1/incidents/incident-1', '/api/v1/incidents/incident-1.txt', '/feed.xml'])(
    'and not public, %s is refused',
    async (url) => {
      const { server } = here([secrets], { options: { token, public: false } })

      expect((await server.inject(url)).statusCode).toBe(401)
      expect((await server.inject({ url, headers: bearer })).statusCode).toBe(200)
    },
  )
})

test('reading a page of very long incidents does not block the event loop', async () => {
  const samples = Array.from({ length: 40 }, () => change().samples[0]).filter((one) => one !== undefined)
  const changes = Array.from({ length: 100 }, () => change({ samples }))
  const records = Array.from({ length: 201 }, (_, at) =>
    incidentRecord(incident({ id: `i-${at}`, openedAt: START + at, changes })),
  )
  const source = createIncidentSource({
    store: { incidents: async (query) => select(records, query), incident: async () => null },
    storeStatus: () => QUIET_STORE,
    incidents: createIncidentLog(),
    clock: systemClock,
    log: recordingLog(),
  })
  let turns = 0
  const turn = setInterval(() => turns++, 1)

  await source.list({ limit: 200 })
  clearInterval(turn)

  expect(turns).toBeGreaterThan(10)
})

describe('while the incidents cannot be read', () => {
  const closed = incident({ id: 'closed', openedAt: START, closedAt: START + 60_000 })
  const now = incident({ id: 'open', openedAt: START + 1000 })

  test('a closed one is no 404, and no list looks as if there were none', async () => {
    const { server, hide, show } = await hidden()
    const statuses = async (urls: readonly string[], headers = {}) =>
      Promise.all(urls.map(async (url) => (await server.inject({ url, headers })).statusCode))
    const api = ['', '/closed', '/closed.txt'].map((rest) => `/api/v1/incidents${rest}`)
    const pages = ['/incidents', '/incidents/closed']

    hide()
    expect(await statuses([...api, '/feed.xml'])).toEqual([503, 503, 503, 503])
    expect(await statuses(pages, { accept: 'text/html' })).toEqual([503, 503])
    const { detail } = ProblemView.strict().parse((await server.inject('/api/v1/incidents/closed')).json())
    expect(detail).toBe('The incident cannot be read now.')
    const headers = { 'content-type': 'application/json' }
    const note = { method: 'POST', url: '/api/v1/incidents/closed/notes', headers, payload: '{"text":"seen"}' } as const
    expect((await server.inject(note)).statusCode).toBe(503)

    show()
    expect(await statuses([...api, '/feed.xml'])).toEqual([200, 200, 200, 200])
    expect(await statuses(pages, { accept: 'text/html' })).toEqual([200, 200])
  })

  test('open ones are answered from memory, also on the page of their endpoint', async () => {
    const { server, incidents, hide } = await hidden()
    incidents.put(now)
    hide()

    expect(ids(await list({ server }))).toEqual(['open'])
    for (const query of ['open=false', 'open=true&network=other']) {
      expect((await server.inject(`/api/v1/incidents?${query}`)).statusCode).toBe(503)
    }
    expect((await server.inject('/api/v1/incidents/open')).statusCode).toBe(200)
    const page = (endpoint: string | null) => server.inject(`/endpoints/${now.network}/${endpoint}`)
    expect((await page(now.endpoint)).body).toContain('href="/incidents/open"')
    expect((await page('own-2')).body).toContain('The incidents cannot be read at the moment.')
  })

  /** A server whose store has `closed`, in a table that can be hidden. */
  async function hidden() {
    const folder = temporaryDirectory()
    const { store } = await opened({ path: `${folder}/heartline.db` })
    store.saveIncident(incidentRecord(closed))
    await store.flush()
    const setting = setUp({ store: { ...store, incidents: store.certain.incidents } })
    open.push(setting)
    const rename = (from: string, to: string) => {
      const database = new Database(`${folder}/heartline.db`)
      database.exec(`ALTER TABLE ${from} RENAME TO ${to}`)
      database.close()
    }
    return {
      ...setting,
      hide: () => rename('incidents', 'hidden'),
      show: () => rename('hidden', 'incidents'),
    }
  }
})

function newestFirst(a: { openedAt: number; id: string }, b: { openedAt: number; id: string }): number {
  return b.openedAt - a.openedAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

/** As a store selects them. */
function select(records: readonly IncidentRecord[], query: Parameters<Store['incidents']>[0]): IncidentRecord[] {
  const { open: wanted, after, limit } = query
  return records
    .filter(({ absorbed, closedAt }) => !absorbed && (wanted === undefined || (closedAt === null) === wanted))
    .filter((record) => after === undefined || newestFirst(after, record) < 0)
    .sort(newestFirst)
    .slice(0, limit)
}
