import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { followOtherMembers } from '../../../src/daemon/other-members.ts'
import { Secret } from '../../../src/secret.ts'
import { createIncidentLog } from '../../../src/state/incident-log.ts'
import { outcomeOf, POLL_NUMBERS } from '../../../src/store/poll-columns.ts'
import { createBatchWriter } from '../../../src/store/postgres/batch-writer.ts'
import { createClusterTables } from '../../../src/store/postgres/cluster-tables.ts'
import { openDatabase } from '../../../src/store/postgres/migrate.ts'
import { createPartitions } from '../../../src/store/postgres/partitions.ts'
import { ALONE, insertPolls, selectStates } from '../../../src/store/postgres/polls.ts'
import { createQueries } from '../../../src/store/postgres/queries.ts'
import type { Query } from '../../../src/store/postgres/sessions.ts'
import type { ClusterRights } from '../../../src/store/postgres/shared-store.ts'
import type { Batch } from '../../../src/store/write-events.ts'
import { until } from '../../support/daemon.ts'
import { incident, incidentRecord } from '../../support/incident.ts'
import { recordingLog } from '../../support/log.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { openPostgres } from '../engines.ts'
import { BASE, HOLD_MS, lines, pollOf, temporaryDirectory } from '../setting.ts'

const skip = !hasPostgres()
const ENDPOINT = 'ethereum/own-1'
const MINUTE_MS = 60_000
let server: PostgresServer

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

/** A member whose rights the test sets. */
async function member(url: string, vantage: string, path: string | null = null) {
  const now = BASE + 5 * MINUTE_MS
  const tokens: { poll: number | null; keep: number | null } = { poll: 1, keep: 1 }
  const rights: ClusterRights = {
    member: `${vantage}-1`,
    vantage,
    pollToken: () => tokens.poll,
    keeperToken: () => tokens.keep,
  }
  const log = recordingLog()
  const { store } = await openPostgres(url, { cluster: rights, clock: { ...systemClock, now: () => now }, path, log })
  store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
  return { store, tokens, log, shared: store.shared ?? expect.fail('it is shared') }
}

type Claim = readonly [kind: 'poll' | 'keep', vantage: string, token: number, at: number, member?: string]

async function claimed(url: string, ...[kind, vantage, token, at, member = 'other']: Claim): Promise<void> {
  await server.run(
    `INSERT INTO lease_claims
     VALUES ('${kind}', '${vantage}', 'ethereum', ${token}, '${member}', to_timestamp(${at / 1000}))`,
    url,
  )
}

const QUERY = { endpoint: ENDPOINT, from: BASE, to: BASE + MINUTE_MS, stepMs: MINUTE_MS }
const incidentOf = (id: string) => ({
  id,
  network: 'ethereum',
  endpoint: 'own-1',
  openedAt: BASE,
  closedAt: null,
  absorbed: false,
  value: {},
})

const outageOf = (id: string, closedAt: number | null, channels: readonly string[]) => {
  const { value: _, ...incident } = incidentOf(id)
  const notifications = channels.map((channel) => ({
    id: `${id} ${channel}`,
    channel,
    incident: id,
    createdAt: BASE,
    waiting: true,
    json: '{}',
  }))
  return { kind: 'save-incident' as const, incident: { ...incident, closedAt, json: '{}' }, notifications }
}

describe.skipIf(skip)('a store that several daemons share', () => {
  test('counts time from what the places found together, and polls from all of them', async () => {
    const url = await server.createDatabase()
    const [fra, nyc] = [await member(url, 'fra1'), await member(url, 'nyc1')]

    for (let at = BASE; at < BASE + MINUTE_MS; at += 15_000) {
      fra.store.poll(pollOf(at, { state: 'down', fresh: false, failure: 'timeout', latencyMs: null, height: null }))
      nyc.store.poll(pollOf(at + 1000, { latencyMs: 20 }))
      fra.shared.merged({ endpoint: ENDPOINT, at: at + 2000, since: BASE, state: 'degraded', fresh: true })
    }
    await Promise.all([fra.store.flush(), nyc.store.flush()])

    const expected = {
      upMs: 0,
      degradedMs: MINUTE_MS - 2000,
      downMs: 0,
      polls: 8,
      latencyMaxMs: 20,
      height: 24_000_000,
    }
    expect(await nyc.store.history(QUERY)).toMatchObject([expected])
    expect(await nyc.store.run('roll-up', BASE + 2 * 3_600_000)).toBe(true)
    expect(await fra.store.history(QUERY)).toMatchObject([expected])
    const polls = await fra.store.polls({ ...QUERY, limit: 5 })
    expect(polls.map(({ state, vantage }) => `${state} from ${vantage}`)).toEqual([
      'down from fra1',
      'up from nyc1',
      'down from fra1',
      'up from nyc1',
      'down from fra1',
    ])
    expect((await fra.store.availability([ENDPOINT], BASE + MINUTE_MS)).get(ENDPOINT)?.['24h'].ratio).toBe(1)
  })

  test('has a full page of polls beside more merged states than polls, as after a change of keeper', async () => {
    const { store, shared } = await member(await server.createDatabase(), 'fra1')
    const merged = (at: number) => shared.merged({ endpoint: ENDPOINT, at, since: at, state: 'up', fresh: true })

    merged(BASE)
    for (const second of [10, 20, 30]) {
      merged(BASE + second * 1000)
      store.poll(pollOf(BASE + second * 1000 + 500))
    }
    await store.flush()

    const polls = await store.polls({ ...QUERY, limit: 3 })
    expect(polls.map(({ at }) => at - BASE)).toEqual([10_500, 20_500, 30_500])
  })

  test('tells an empty answer from none, and a member that cannot read keeps what it knows', async () => {
    const url = await server.createDatabase()
    const { store, shared } = await member(url, 'fra1')
    const open = incident({ id: 'open', network: 'ethereum', endpoint: 'own-1' })
    const begun = incident({ id: 'begun', network: 'kept', endpoint: 'own-1' })
    const ended = incident({ id: 'ended', network: 'kept', endpoint: 'own-1', closedAt: BASE + 60_000 })
    for (const one of [open, begun, ended]) store.saveIncident(incidentRecord(one))
    await store.flush()
    const incidents = createIncidentLog()
    const log = lines()
    const late: string[] = []
    const others = followOtherMembers({
      store,
      shared,
      incidents,
      keeps: (network) => network === 'kept',
      keeperToken: () => 1,
      onLate: (some) => late.push(...some.map(({ id }) => id)),
      onSilence: () => undefined,
      onAliases: () => undefined,
      clock: systemClock,
      log,
    })
    onTestFinished(() => others.stop())
    others.start()
    await until(() => incidents.open().length === 1, 'it is read')
    expect(late).toEqual(['begun'])

    await server.run('ALTER TABLE incidents RENAME TO hidden', url)
    others.readAnew('ethereum')
    await until(() => log.lines.includes('changes of other members cannot be read'), 'it tries')
    expect(await store.incidents({ limit: 1 })).toEqual([])
    await expect(store.certain.incidents({ limit: 1 })).rejects.toThrow('the incidents cannot be read')
    expect(incidents.open()).toEqual([open])

    await server.run('ALTER TABLE hidden RENAME TO incidents', url)
    expect(await store.certain.incidents({ limit: 1 })).toMatchObject([{ id: 'open' }])
    expect(await store.certain.savedHealth()).toEqual([])
  })

  test('gives the time before a confirmed state to that state', async () => {
    const { store, shared } = await member(await server.createDatabase(), 'fra1')

    for (const second of [0, 10, 20, 30]) {
      shared.merged({ endpoint: ENDPOINT, at: BASE + second * 1000, since: BASE, state: 'up', fresh: true })
    }
    await store.flush()
    shared.merged({ endpoint: ENDPOINT, at: BASE + 40_000, since: BASE + 20_000, state: 'down', fresh: false })
    await store.flush()

    expect(await store.history(QUERY)).toMatchObject([{ upMs: 20_000, downMs: 40_000, polls: 0 }])
  })

  test('refuses polls that were made after another member had claimed the network, and keeps earlier ones', async () => {
    const url = await server.createDatabase()
    const { store, tokens } = await member(url, 'fra1')
    await claimed(url, 'poll', 'fra1', 1, BASE - 1000)
    await claimed(url, 'poll', 'fra1', 2, BASE + 20_000)
    await claimed(url, 'poll', 'nyc1', 9, BASE - 1000)

    for (const second of [0, 10, 30, 40]) store.poll(pollOf(BASE + second * 1000, { height: second }))
    tokens.poll = 2
    store.poll(pollOf(BASE + 50_000, { height: 50 }))
    await store.flush()

    const polls = await store.polls({ ...QUERY, limit: 9 })
    expect(polls.map(({ height }) => height)).toEqual([0, 10, 50])
    expect(store.status()).toMatchObject({ rowsWritten: 3, remote: { rowsRefused: 2 } })
  })

  test('refuses what a member finds out about endpoints after another member had claimed the network', async () => {
    const url = await server.createDatabase()
    const { store } = await member(url, 'fra1')
    const next = await member(url, 'fra1')
    next.tokens.poll = 2
    store.poll(pollOf(BASE, { height: 0 }))
    store.poll(pollOf(BASE + 10_000, { height: 10 }))
    await store.flush()
    await claimed(url, 'poll', 'fra1', 2, BASE + 20_000)
    next.store.poll(pollOf(BASE + 21_000, { height: 21 }))
    next.store.saveHealth({ endpoint: ENDPOINT, at: BASE + 21_000, value: 'of the next' })
    await next.store.flush()

    const hash = { endpoint: ENDPOINT, shard: null, height: 1, hash: 'a', previousHash: 'b' }
    for (const at of [BASE + 15_000, BASE + 30_000]) {
      const isLate = at > BASE + 20_000
      store.amend(ENDPOINT, BASE + 5000, at, isLate ? 'down' : 'degraded', false)
      store.hashChange({ ...hash, at })
    }
    store.saveHealth({ endpoint: ENDPOINT, at: BASE + 30_000, value: 'of the last' })
    await store.flush()

    const polls = await store.polls({ ...QUERY, limit: 9 })
    expect(polls.map(({ state }) => state)).toEqual(['up', 'degraded', 'up'])
    expect(await server.run('SELECT at_ms FROM hash_changes', url)).toEqual([{ at_ms: String(BASE + 15_000) }])
    expect(await store.savedHealth()).toMatchObject([{ value: 'of the next' }])
    expect(store.status().remote?.rowsRefused).toBe(3)
  })

  test('replaces the state of an endpoint that was saved before the clock of the database was set back', async () => {
    const { store } = await member(await server.createDatabase(), 'fra1')
    const now = Date.now()
    const saved = [
      { at: now + 3_600_000, value: 'before' },
      { at: now, value: 'since' },
      { at: now - 1000, value: 'late' },
    ]

    for (const one of saved) {
      store.saveHealth({ endpoint: ENDPOINT, ...one })
      await store.flush()
    }

    expect(await store.savedHealth()).toMatchObject([{ value: 'since' }])
  })

  test('changes also those waiting polls that were made under an earlier token', async () => {
    const { store, tokens } = await member(await server.createDatabase(), 'fra1')

    store.poll(pollOf(BASE))
    tokens.poll = 2
    store.poll(pollOf(BASE + 10_000, { state: 'down', fresh: false }))
    store.amend(ENDPOINT, BASE, BASE + 10_000, 'down', false)
    await store.flush()

    expect(await store.polls({ ...QUERY, limit: 9 })).toMatchObject([{ state: 'down' }, { state: 'down' }])
  })

  test('keeps the polls of a member that claimed the network again, also from the time without a lease', async () => {
    const url = await server.createDatabase()
    const { store, tokens } = await member(url, 'fra1')
    await claimed(url, 'poll', 'fra1', 1, BASE - 1000, 'fra1-1')
    await claimed(url, 'poll', 'fra1', 2, BASE + 20_000, 'fra1-1')

    store.poll(pollOf(BASE, { height: 0 }))
    tokens.poll = null
    for (const second of [10, 30]) store.poll(pollOf(BASE + second * 1000, { height: second }))
    tokens.poll = 2
    store.poll(pollOf(BASE + 40_000, { height: 40 }))
    await store.flush()

    const polls = await store.polls({ ...QUERY, limit: 9 })
    expect(polls.map(({ height }) => height)).toEqual([0, 10, 30, 40])
  })

  test('refuses incidents, notifications and merged states of a member that keeps the network no more', async () => {
    const url = await server.createDatabase()
    const { store, shared } = await member(url, 'fra1')
    const notification = { channel: 'ops', incident: 'mine', createdAt: BASE, waiting: true, value: {} }
    store.saveIncident(incidentOf('mine'), [{ ...notification, id: 'n-1' }])
    await store.flush()

    await claimed(url, 'keep', '', 2, BASE + 3_600_000)
    store.saveIncident(incidentOf('stale'), [{ ...notification, id: 'n-2', incident: 'stale' }])
    store.saveNotification({ ...notification, id: 'n-1', network: 'ethereum', value: 'stale' })
    store.saveNotification({ ...notification, id: 'n-3', incident: 'own trouble' })
    shared.merged({ endpoint: ENDPOINT, at: BASE, since: BASE, state: 'down', fresh: false })
    await store.flush()

    expect((await store.incidents({ limit: 9 })).map(({ id }) => id)).toEqual(['mine'])
    const notifications = await store.notifications({ about: 'latest', limit: 9 })
    expect(notifications.map(({ id, value }) => [id, value])).toEqual([
      ['n-1', {}],
      ['n-3', {}],
    ])
    expect(await store.history(QUERY)).toMatchObject([{ downMs: 0 }])
    expect(store.status().remote?.rowsRefused).toBe(3)
  })

  test('lets no member claim a network while an incident of it is being written', async () => {
    const url = await server.createDatabase()
    const [{ store }, { shared }] = [await member(url, 'fra1'), await member(url, 'nyc1')]
    const tables = createClusterTables(shared.database)
    const key = { kind: 'keep', vantage: '', network: 'ethereum' } as const
    await tables.claim('fra1-1', [key], 0)
    store.saveIncident(incidentOf('x'))
    await store.flush()

    const { writing, tooEarly } = await shared.database.transaction(async (query) => {
      await query("SELECT 1 FROM incidents WHERE id = 'x' FOR UPDATE")
      store.saveIncident({ ...incidentOf('x'), closedAt: BASE + 1 })
      const flushed = store.flush()
      await until(async () => {
        const rows = await server.run("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return rows.length > 0
      }, 'the incident is being written')
      return { writing: flushed, tooEarly: await tables.claim('nyc1-1', [key], 60_000) }
    })
    await writing

    expect(tooEarly).toEqual([])
    expect(await tables.claim('nyc1-1', [key], 60_000)).toEqual([{ ...key, token: 2 }])
    expect(await store.incident('x')).toMatchObject({ closedAt: BASE + 1 })
  })

  /** An incident of a member whose notification waits, and whose network another member has claimed. */
  async function lostWithNotification() {
    const url = await server.createDatabase()
    const { store } = await member(url, 'fra1')
    const notification = { id: 'n', channel: 'ops', incident: 'mine', createdAt: BASE, network: 'ethereum', value: {} }
    store.saveIncident(incidentOf('mine'), [{ ...notification, waiting: true }])
    await store.flush()
    await claimed(url, 'keep', '', 2, BASE)
    return { store, notification }
  }

  test('accepts from any member that a notification was sent', async () => {
    const { store, notification } = await lostWithNotification()

    store.saveNotification({ ...notification, waiting: false })
    await store.flush()

    expect(await store.notifications({ about: 'latest', limit: 9 })).toMatchObject([{ id: 'n', waiting: false }])
  })

  test('accepts that a notification was sent also with an incident that it refuses', async () => {
    const { store, notification } = await lostWithNotification()

    store.saveIncident({ ...incidentOf('mine'), closedAt: BASE + 1 }, [{ ...notification, id: 'late', waiting: true }])
    store.saveNotification({ ...notification, waiting: false })
    await store.flush()

    expect(await store.incident('mine')).toMatchObject({ closedAt: null })
    expect(await store.notifications({ about: 'latest', limit: 9 })).toMatchObject([{ id: 'n', waiting: false }])
  })

  test('accepts what waited for the database if no member had claimed the network when it was written', async () => {
    const url = await server.createDatabase()
    const { store } = await member(url, 'fra1', join(temporaryDirectory(), 'spool.db'))
    await server.stop()
    store.saveIncident(incidentOf('first'))
    await store.flush()
    store.saveIncident(incidentOf('second'))
    await store.flush()
    await server.start()
    await claimed(url, 'keep', '', 2, BASE + 6 * MINUTE_MS)

    await until(async () => (await store.incidents({ limit: 9 })).length === 2, 'both are written')
    expect(store.status().remote?.rowsRefused).toBe(0)
  })

  test('leaves an incident as a later keeper wrote it, when what an earlier one wrote before arrives late', async () => {
    const url = await server.createDatabase()
    const spool = join(temporaryDirectory(), 'spool.db')
    const early = await member(url, 'fra1', spool)
    const message = { channel: 'ops', incident: 'x', createdAt: BASE, network: 'ethereum', waiting: true }
    early.store.saveIncident({ ...incidentOf('x'), value: 'opened' }, [
      { ...message, id: 'n-1', value: 'first try' },
      { ...message, id: 'n-2', value: 'first try' },
    ])
    await early.store.flush()
    await server.stop()
    early.store.saveIncident({ ...incidentOf('x'), value: 'worsened' }, [
      { ...message, id: 'n-1', value: 'second try' },
      { ...message, id: 'n-2', value: 'sent', waiting: false },
      { ...message, id: 'n-3', value: 'never sent' },
    ])
    early.store.saveIncident({ ...incidentOf('y'), value: 'opened' }, [
      { ...message, id: 'n-4', incident: 'y', value: 'first try' },
    ])
    await early.store.flush()
    await early.store.close()

    await server.start()
    await claimed(url, 'keep', '', 2, BASE + 6 * MINUTE_MS)
    const late = await member(url, 'nyc1')
    late.tokens.keep = 2
    late.store.saveIncident({ ...incidentOf('x'), closedAt: BASE + 1, value: 'closed' }, [
      { ...message, id: 'n-1', value: 'third try' },
      { ...message, id: 'n-2', value: 'third try' },
    ])
    await late.store.flush()
    const { store } = await member(url, 'fra1', spool)
    await until(async () => (await store.incident('y')) !== null, 'what waited is written')

    expect(await store.incident('x')).toMatchObject({ closedAt: BASE + 1, value: 'closed' })
    expect(await store.notifications({ about: { incidents: ['x'] }, limit: 9 })).toMatchObject([
      { id: 'n-1', waiting: true, value: 'third try' },
      { id: 'n-2', waiting: false, value: 'sent' },
    ])
    expect(await store.notifications({ about: { incidents: ['y'] }, limit: 9 })).toMatchObject([{ id: 'n-4' }])
  })

  test('tells the keeper which incidents an earlier one stored late, also those that ended meanwhile', async () => {
    const url = await server.createDatabase()
    const [early, keeper] = [await member(url, 'fra1'), await member(url, 'nyc1')]
    keeper.tokens.keep = 2
    const of = { network: 'ethereum', endpoint: 'own-1' }
    const ended = (id: string) => incident({ ...of, id, closedAt: BASE + 60_000 })
    early.store.saveIncident(incidentRecord(ended('long ago')))
    await early.store.flush()
    const incidents = createIncidentLog()
    for (const id of ['open here', 'ended here']) incidents.put(incident({ ...of, id }))
    incidents.put(ended('ended here'))
    const late: string[] = []
    const others = followOtherMembers({
      ...keeper,
      incidents,
      keeps: () => true,
      keeperToken: () => keeper.tokens.keep,
      onLate: (some) => late.push(...some.map(({ id }) => id)),
      onSilence: ({ id }) => late.push(id),
      onAliases: () => undefined,
      clock: systemClock,
    })
    onTestFinished(() => others.stop())
    const mark = { network: 'ethereum', endpoint: null, reason: 'all before was read', from: BASE, until: BASE + 1 }
    early.store.saveSilence({ ...mark, id: 'first' })
    await early.store.flush()
    others.start()
    await until(() => late.length === 1, 'all is read once')

    for (const id of ['ended', 'open here', 'ended here']) early.store.saveIncident(incidentRecord(ended(id)))
    early.store.saveIncident(incidentRecord(incident({ ...of, id: 'begun' })))
    keeper.store.saveIncident(incidentRecord(ended('own')))
    await Promise.all([early.store.flush(), keeper.store.flush()])
    early.store.saveSilence({ ...mark, id: 'last' })
    await until(() => late.includes('last'), 'the changes are read')

    expect(late.toSorted()).toEqual(['begun', 'ended', 'first', 'last', 'open here'])
  })

  test('takes no incident that the keeper wrote itself for late, however many changed since', async () => {
    const keeper = await member(await server.createDatabase(), 'fra1')
    const incidents = createIncidentLog()
    const told: string[] = []
    const others = followOtherMembers({
      ...keeper,
      incidents,
      keeps: () => true,
      keeperToken: () => 1,
      onLate: (some) => told.push(...some.map(({ id }) => id)),
      onSilence: ({ id }) => told.push(id),
      onAliases: () => undefined,
      clock: systemClock,
    })
    onTestFinished(() => others.stop())
    const mark = { network: 'ethereum', endpoint: null, reason: 'a test', from: BASE, until: BASE + 1 }
    keeper.store.saveSilence({ ...mark, id: 'first' })
    await keeper.store.flush()
    others.start()
    await until(() => told.length === 1, 'all is read once')

    const opened = Array.from({ length: 600 }, (_, nth) =>
      incident({ id: `${nth}`, network: 'ethereum', endpoint: `${nth}` }),
    )
    for (const one of opened) {
      incidents.put(one)
      keeper.store.saveIncident(incidentRecord(one))
    }
    // It ended while these changed, and its row is from before.
    keeper.store.saveIncident(incidentRecord(incident({ id: 'forgotten', network: 'ethereum', endpoint: 'own' })))
    keeper.store.saveSilence({ ...mark, id: 'last' })
    await keeper.store.flush()
    await until(() => told.includes('last'), 'the changes are read')

    expect(told).toEqual(['first', 'last'])
    expect(incidents.known('0')).toEqual(opened[0])
  })

  test('knows until it is in the database that an earlier run has left a spool', async () => {
    const url = await server.createDatabase()
    const spool = join(temporaryDirectory(), 'spool.db')
    const early = await member(url, 'fra1', spool)
    await server.stop()
    early.store.saveIncident(incidentOf('x'))
    await early.store.flush()
    expect(early.shared.isReplaying()).toBe(false)
    await early.store.close()

    const { store, shared } = await member(url, 'fra1', spool)
    expect(shared.isReplaying()).toBe(true)
    await server.start()
    await until(() => !shared.isReplaying(), 'what waited is written')

    expect(await store.incident('x')).not.toBeNull()
  })

  test('lets a daemon without a cluster change what members wrote', async () => {
    const url = await server.createDatabase()
    const { store } = await member(url, 'fra1')
    store.saveIncident(incidentOf('x'))
    await store.close()

    const { store: alone } = await openPostgres(url)
    alone.saveIncident({ ...incidentOf('x'), closedAt: BASE + 1 })
    await alone.flush()

    expect(await alone.incident('x')).toMatchObject({ closedAt: BASE + 1 })
  })

  test('tells each member what the others wrote', async () => {
    const url = await server.createDatabase()
    const [fra, nyc] = [await member(url, 'fra1'), await member(url, 'nyc1')]
    const { position } = await nyc.shared.changesAfter(null)
    const silence = { id: 's', network: 'ethereum', endpoint: null, reason: 'a test', from: BASE, until: BASE + 1 }

    fra.store.saveIncident(incidentOf('a'))
    fra.store.saveSilence(silence)
    await fra.store.flush()

    const changes = await nyc.shared.changesAfter(position)
    expect(changes).toMatchObject({ incidents: [incidentOf('a')], silences: [silence], aliases: [] })
    expect(await nyc.shared.changesAfter(changes.position)).toMatchObject({ incidents: [], silences: [] })
  })

  test('leaves a silence ended whose beginning is stored again, as after a lost answer', async () => {
    const url = await server.createDatabase()
    const [fra, nyc] = [await member(url, 'fra1'), await member(url, 'nyc1')]
    const silence = { id: 's', network: 'ethereum', endpoint: null, reason: 'a test', from: BASE, until: BASE + 1000 }
    fra.store.saveSilence(silence)
    await fra.store.flush()
    nyc.store.saveSilence({ ...silence, until: BASE + 5 })
    await nyc.store.flush()

    fra.store.saveSilence(silence)
    await fra.store.flush()

    expect(await nyc.store.silences({ from: BASE, to: BASE + 1000 })).toMatchObject([{ id: 's', until: BASE + 5 }])
  })

  test('looks for changes with one statement as long as there are none', async () => {
    const database = await openDatabase({ url: new Secret(await server.createDatabase()), clock: systemClock })
    onTestFinished(() => database.close())
    let statements = 0
    const query: Query = (...asked) => {
      statements++
      return database.query(...asked)
    }
    const { changesAfter } = createQueries({ ...database, query }, null)
    const { position } = await changesAfter(null)

    statements = 0
    const changes = await changesAfter(position)

    expect([statements, changes.incidents]).toEqual([1, []])
  })

  test('reads polls in a row that found the same as one state, unless one came too late', async () => {
    const database = await openDatabase({ url: new Secret(await server.createDatabase()), clock: systemClock })
    onTestFinished(() => database.close())
    const [up, down] = [outcomeOf('up', true, null), outcomeOf('down', false, 'timeout')]
    const found = [up, up, up, down, down, up].map((outcome, nth) => [BASE + 10_000 * nth, outcome] as const)
    const polls = [...found, [BASE + 90_000, up], [BASE + 95_000, up]]
    await createPartitions(database).ensure(polls.map(([at = 0]) => at))
    const numbers = polls.flatMap((poll) => [7, ...poll, ...Array(POLL_NUMBERS - 3).fill(Number.NaN)])
    await insertPolls(database.query, ALONE, Float64Array.from(numbers))

    const states = await selectStates(database.query, [7], BASE, BASE + 100_000, 30_000)

    expect(states.map(({ at, lastAt = at, state }) => [at - BASE, lastAt - BASE, state])).toEqual([
      [0, 20_000, 'up'],
      [30_000, 40_000, 'down'],
      [50_000, 50_000, 'up'],
      [90_000, 95_000, 'up'],
    ])
  })

  test('returns each change once, also while a long transaction runs, and after a move to another server', async () => {
    const url = await server.createDatabase()
    const [fra, nyc] = [await member(url, 'fra1'), await member(url, 'nyc1')]
    fra.store.saveIncident(incidentOf('moved'))
    await fra.store.flush()
    await server.run('UPDATE incidents SET version = 900000000000', url)
    const { position } = await (await member(url, 'sin1')).shared.changesAfter(null)
    expect((await nyc.shared.changesAfter(position)).incidents).toEqual([])

    await nyc.shared.database.transaction(async (query) => {
      await query('SELECT pg_current_xact_id()')
      fra.store.saveIncident(incidentOf('a'))
      await fra.store.flush()
      const changes = await nyc.shared.changesAfter(position)
      expect(changes.incidents?.map(({ id }) => id)).toEqual(['a'])
      expect((await nyc.shared.changesAfter(changes.position)).incidents).toEqual([])
    })
  })

  /** A writer of batches, and the statements of its transactions. */
  async function countedWriter() {
    const database = await openDatabase({ url: new Secret(await server.createDatabase()), clock: systemClock })
    onTestFinished(() => database.close())
    const statements: string[] = []
    const counted = (query: Query): Query => {
      return (...asked) => {
        statements.push(asked[0])
        return query(...asked)
      }
    }
    const writer = createBatchWriter({
      database: { ...database, transaction: (work) => database.transaction((query) => work(counted(query))) },
      partitions: createPartitions(database),
      vantageId: async () => 0,
      cluster: null,
    })
    return { database, writer, statements }
  }

  test('compares the stored maintenance of many endpoints with one statement, and changes all with a few', async () => {
    const { database, writer, statements } = await countedWriter()
    const endpoints = Array.from({ length: 500 }, (_, nth) => `ethereum/own-${nth}` as const)
    const plan = async (...periods: (readonly [fromMinute: number, untilMinute: number])[]) => {
      statements.length = 0
      const all = endpoints.flatMap((endpoint) =>
        periods.map(([from, until]) => ({ endpoint, from: BASE + from * MINUTE_MS, until: BASE + until * MINUTE_MS })),
      )
      const event = { kind: 'maintain', at: BASE + 60 * MINUTE_MS, periods: all } as const
      await writer.write({ polls: new Float64Array(0), events: [{ after: 0, event }] }, new Map())
      const stored = await database.query<{ from: number; until: number; endpoints: number }>(
        `SELECT from_ms AS "from", until_ms AS until, count(*) AS endpoints FROM maintenance GROUP BY 1, 2 ORDER BY 1`,
      )
      const inMinutes = ({ from, until }: { from: number; until: number }) =>
        [from, until].map((ms) => (ms - BASE) / MINUTE_MS)
      return stored.map((row) => [...inMinutes(row), row.endpoints])
    }
    const upMinutes = async () => {
      const [sum] = await database.query<{ up: number }>('SELECT sum(up_ms)::bigint AS up FROM five_minutes')
      return (sum?.up ?? 0) / endpoints.length / MINUTE_MS
    }
    expect(await plan([200, 210])).toEqual([[200, 210, 500]])
    expect(statements.length).toBeLessThan(15)
    const slot = BASE / (5 * MINUTE_MS)
    await database.query(
      `INSERT INTO five_minutes (endpoint_id, bucket, up_ms, degraded_ms, down_ms, stale_ms, polls)
       SELECT endpoint_id, bucket, ${5 * MINUTE_MS}, 0, 0, 0, 0 FROM endpoints, generate_series(${slot + 9}, ${slot + 11}) AS bucket`,
    )
    await database.query(`INSERT INTO marks (name, value) VALUES ('rolled_to', ${slot + 12})`)

    const late = [
      [50, 70, 500],
      [200, 210, 500],
    ]
    expect(await plan([50, 70], [200, 210])).toEqual(late)
    expect(statements.length).toBeLessThan(100)
    expect(await upMinutes()).toBe(5)

    expect(await plan([50, 70], [200, 210])).toEqual(late)
    expect(statements.filter((text) => text.includes('maintenance'))).toHaveLength(1)
    expect(statements.filter((text) => text.includes('pg_advisory_xact_lock('))).toEqual([])
  })

  test('writes the incidents and notifications of a mass outage with a few statements', async () => {
    const { database, writer, statements } = await countedWriter()
    const ids = Array.from({ length: 500 }, (_, nth) => `i-${String(nth).padStart(3, '0')}`)
    const opening = ids.map((id) => ({ after: 0, event: outageOf(id, null, ['ops', 'pager\0']) }))
    const closing = { after: 0, event: outageOf('i-007', BASE + 1, ['ops']) }
    const batch: Batch = { polls: new Float64Array(0), events: [...opening, closing] }

    await writer.write(batch, new Map())
    await writer.write(batch, new Map())

    expect(statements.length).toBeLessThan(20)
    const closed = 'SELECT id, closed_ms AS closed, value, token FROM incidents WHERE closed_ms IS NOT NULL'
    expect(await database.query(closed)).toEqual([{ id: 'i-007', closed: BASE + 1, value: '{}', token: 0 }])
    expect(await database.query('SELECT 1 FROM incidents')).toHaveLength(500)
    const added = await database.query<{ id: string }>('SELECT id FROM notifications ORDER BY nth')
    expect(added.map(({ id }) => id)).toEqual(ids.flatMap((id) => [`${id} ops`, `${id} pager`]))
  })

  test('gives the saved health of a place to its next owner alone', async () => {
    const url = await server.createDatabase()
    const fra = await member(url, 'fra1')
    fra.store.saveHealth({ endpoint: ENDPOINT, at: BASE, value: 'from fra1' })
    await fra.store.flush()

    const [next, nyc] = [await member(url, 'fra1'), await member(url, 'nyc1')]

    expect(await next.store.savedHealth()).toMatchObject([{ value: 'from fra1' }])
    expect(await nyc.store.savedHealth()).toEqual([])
  })

  test('forgets members and votes after a day, and no lease', async () => {
    const url = await server.createDatabase()
    const { store, log } = await member(url, 'fra1')
    for (const age of ['1 hour', '2 days']) {
      await server.run(
        `INSERT INTO members VALUES ('${age}', 'fra1', '1', NULL, 'd', false, now(), now() - interval '${age}');
         INSERT INTO votes VALUES ('fra1', 'n', '${age}', 'm', 1, now() - interval '${age}', 1, '{}');
         INSERT INTO leases VALUES ('poll', 'fra1', '${age}', NULL, 7, now() - interval '${age}', NULL)`,
        url,
      )
    }

    expect(await store.run('retention', systemClock.now()), JSON.stringify(log.lines)).toBe(true)

    const left = async (column: string, table: string) =>
      (await server.run(`SELECT ${column} AS name FROM ${table} ORDER BY 1`, url)).map(({ name }) => name)
    expect(await left('id', 'members')).toEqual(['1 hour'])
    expect(await left('endpoint', 'votes')).toEqual(['1 hour'])
    expect(await left('network', 'leases')).toEqual(['1 hour', '2 days'])
  })
})
