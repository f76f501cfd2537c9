import { describe, expect, test } from 'vitest'
import { createMetrics, type MetricsDeps } from '../../src/metrics/metrics.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { endpoint, network } from '../support/network.ts'
import { aClusterReport, DISAGREEING, putPlaces, REMOTE } from '../support/places.ts'
import { createWorld, QUIET_STORE } from '../support/world.ts'

const own = endpoint('own-1', { network: 'avalanche' })
const OF_SEVERAL = /^heartline_(?:vantage_|cluster_|store_(?:reachable|spool_rows|rows_refused))/

/** The series that only several daemons have. */
async function linesOf(deps: Partial<MetricsDeps>, isPlaced = false): Promise<readonly string[]> {
  const clock = createFakeClock()
  const world = createWorld(clock, [{ network: network({ name: 'avalanche' }), endpoints: [own] }])
  await world.pollAll()
  if (isPlaced) putPlaces(world.board, own, DISAGREEING, 2)
  const metrics = createMetrics({
    board: world.board,
    incidents: createIncidentLog(),
    clock,
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: null }),
    observer: () => ({ impaired: false, judging: true }),
    ...deps,
  })
  return (await metrics.render()).split('\n').filter((line) => OF_SEVERAL.test(line))
}

const remote = { ...REMOTE, reachable: false, spoolRows: 120, rowsRefused: 3 }

describe('a daemon alone', () => {
  test('has none of the series of several daemons', async () => {
    expect(await linesOf({ cluster: () => null })).toEqual([])
  })

  test('has those of its database if that is on a server', async () => {
    expect(await linesOf({ storeStatus: () => ({ ...QUIET_STORE, remote }) })).toEqual([
      'heartline_store_reachable 0',
      'heartline_store_spool_rows 120',
      'heartline_store_rows_refused_total 3',
    ])
  })
})

describe('a member of a cluster', () => {
  test('counts live members, and has the time of each lease on a network for a place', async () => {
    expect(await linesOf({ cluster: () => aClusterReport() })).toEqual([
      'heartline_cluster_members 2',
      'heartline_cluster_networks_differ 0',
      'heartline_cluster_lease_expiry_timestamp_seconds{vantage="fra1",network="avalanche"} 1767225660',
      'heartline_cluster_lease_expiry_timestamp_seconds{vantage="nyc1",network="avalanche"} 1767225540',
      'heartline_cluster_lag_seconds 0.004',
    ])
  })

  test('counts live members with other networks than its own', async () => {
    const { members } = aClusterReport()
    const differing = members.map((one) => ({ ...one, differs: !one.isSelf }))

    expect(await linesOf({ cluster: () => aClusterReport({ members: differing }) })).toContain(
      'heartline_cluster_networks_differ 1',
    )
  })

  test('counts no members while the database is away and nothing is known of the others', async () => {
    const members = aClusterReport().members.map((one) => (one.isSelf ? one : { ...one, isLive: null }))

    const lines = await linesOf({ cluster: () => aClusterReport({ members }) })

    expect(lines.join()).not.toMatch(/cluster_members|cluster_networks_differ/)
  })

  test('has no round trip while the database is away', async () => {
    const store = { reachable: false, since: 0, spoolRows: 0, lagMs: null }

    expect((await linesOf({ cluster: () => aClusterReport({ store }) })).join()).not.toContain('cluster_lag_seconds')
  })

  test('has what each place sees of an endpoint, one series for each state', async () => {
    const lines = await linesOf({}, true)

    const ofFra = (state: string, value: number) =>
      `heartline_vantage_state{network="avalanche",endpoint="own-1",vantage="fra1",state="${state}"} ${value}`
    expect(lines).toHaveLength(15)
    expect(lines.slice(0, 5)).toEqual([
      ofFra('up', 0),
      ofFra('degraded', 0),
      ofFra('down', 1),
      ofFra('maintenance', 0),
      ofFra('unknown', 0),
    ])
  })

  test('has only the current state of each place with `metrics.sparse`', async () => {
    expect(await linesOf({ sparse: true }, true)).toEqual(
      [
        ['fra1', 'down'],
        ['nyc1', 'up'],
        ['sin1', 'up'],
      ].map(
        ([vantage, state]) =>
          `heartline_vantage_state{network="avalanche",endpoint="own-1",vantage="${vantage}",state="${state}"} 1`,
      ),
    )
  })
})
