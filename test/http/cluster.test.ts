import { describe, expect, test } from 'vitest'
import { ClusterView } from '../../src/http/wire/cluster.ts'
import { OwnHealthView } from '../../src/http/wire/own-health.ts'
import { StatusView } from '../../src/http/wire/status.ts'
import { Secret } from '../../src/secret.ts'
import { aClusterReport } from '../support/places.ts'
import { setUp } from './setting.ts'

const START = '2026-01-01T00:00:00.000Z'
const TOKEN = 'a-token-of-the-operator'
const headers = { authorization: `Bearer ${TOKEN}` }
/** As seen by a member whose database has been away since the start, and which knows of other networks. */
const lonely = aClusterReport({
  members: aClusterReport().members.map((member) => ({ ...member, differs: !member.isSelf })),
  store: { reachable: false, since: Date.parse(START), spoolRows: 120, lagMs: null },
})

describe('/api/v1/cluster', () => {
  test('is one member without leases for a daemon alone, whose store can be reached', async () => {
    const { server, clock } = setUp({ options: { publicUrl: () => 'https://status.example.org' } })
    await clock.advance(5000)

    const answer = await server.inject('/api/v1/cluster')

    expect(answer.json()).toEqual({
      members: [
        {
          id: 'default',
          vantage: 'default',
          version: '1.2.3',
          url: 'https://status.example.org',
          seen_at: '2026-01-01T00:00:05.000Z',
          self: true,
        },
      ],
      leases: [],
      store: { reachable: true, since: START, spool_rows: 0 },
    })
  })

  test('lists members, leases and the database as the member that answers knows them', async () => {
    const { server } = setUp({ cluster: () => lonely })

    const answer = await server.inject('/api/v1/cluster')

    expect(ClusterView.parse(answer.json())).toEqual(answer.json())
    expect(answer.json()).toEqual({
      members: [
        {
          id: 'fra-1',
          vantage: 'fra1',
          version: '1.2.3',
          url: 'https://fra.example.org',
          seen_at: START,
          self: true,
        },
        { id: 'nyc-1', vantage: 'nyc1', version: '1.2.3', url: null, seen_at: START, self: false },
        {
          id: 'nyc-2',
          vantage: 'nyc1',
          version: '1.2.3',
          url: null,
          seen_at: '2025-12-31T23:00:00.000Z',
          self: false,
        },
      ],
      leases: [
        {
          vantage: 'fra1',
          network: 'avalanche',
          member: 'fra-1',
          token: 7,
          expires_at: '2026-01-01T00:01:00.000Z',
        },
        {
          vantage: 'nyc1',
          network: 'avalanche',
          member: null,
          token: 7,
          expires_at: '2025-12-31T23:59:00.000Z',
        },
      ],
      store: { reachable: false, since: START, spool_rows: 120 },
    })
  })
})

describe('/api/v1/observer', () => {
  test('names keepers of incidents, members that differ and the round trip as well', async () => {
    const { server } = setUp({ cluster: () => aClusterReport() })

    const { cluster } = OwnHealthView.parse((await server.inject('/api/v1/observer')).json())

    expect(cluster).toMatchObject({
      vantage: 'fra1',
      keepers: [{ network: 'avalanche', member: 'nyc-1' }],
      store: { reachable: true, lag_seconds: 0.004, rows_refused: 0 },
    })
    expect(cluster?.members.map(({ id, live, differs }) => [id, live, differs])).toEqual([
      ['fra-1', true, false],
      ['nyc-1', true, false],
      ['nyc-2', false, true],
    ])
  })

  test('has no cluster for a daemon alone', async () => {
    expect((await setUp().server.inject('/api/v1/observer')).json()).toMatchObject({ cluster: null })
  })
})

describe('the status', () => {
  test('says nothing of a cluster for a daemon alone', async () => {
    expect((await setUp().server.inject('/api/v1/status')).json()).not.toHaveProperty('cluster')
  })

  test('says since when it is the own view of one member, and tells operators that networks differ', async () => {
    const { server } = setUp({ cluster: () => lonely, options: { token: new Secret(TOKEN) } })

    const [own, seen] = await Promise.all([
      server.inject({ url: '/api/v1/status', headers }),
      server.inject('/api/v1/status'),
    ])

    const shown = { vantage: 'fra1', own_view_since: START }
    expect(StatusView.parse(own.json()).cluster).toEqual({ ...shown, networks_differ: true })
    expect(StatusView.parse(seen.json()).cluster).toEqual({ ...shown, networks_differ: false })
  })

  test('of a member whose database answers is that of the whole cluster', async () => {
    const { server } = setUp({ cluster: () => aClusterReport() })

    const status = StatusView.parse((await server.inject('/api/v1/status')).json())

    expect(status.cluster).toEqual({ vantage: 'fra1', own_view_since: null, networks_differ: false })
  })

  test('is another document once the database is away', async () => {
    let report = aClusterReport()
    const { server } = setUp({ cluster: () => report })
    const { etag } = (await server.inject('/api/v1/status')).headers

    report = lonely
    const answer = await server.inject({ url: '/api/v1/status', headers: { 'if-none-match': String(etag) } })

    expect(answer.statusCode).toBe(200)
  })
})
