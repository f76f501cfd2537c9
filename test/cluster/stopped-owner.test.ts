import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { clusterOf, everyoneShows, INTERVAL_MS, idOf, incidentsOf, LEASE_MS, openCluster } from './members.ts'

const { claimsOf, noteWrites, run, server, skip, startTwo } = openCluster()

test.skipIf(skip)(
  'an owner that is stopped for four leases has no write accepted afterwards, and rejoins',
  async () => {
    const url = await server().createDatabase()
    const { owner, other, daemons } = await startTwo(url)
    await noteWrites(url)

    owner.daemon.process.kill('SIGSTOP')
    await until(async () => (await claimsOf(url)).length > 1, 'the other one claims')
    const claimedAt = (await claimsOf(url))[1]?.at ?? 0
    await new Promise((resolve) => setTimeout(resolve, 4 * LEASE_MS))
    owner.daemon.process.kill('SIGCONT')
    await until(
      async () => (await clusterOf(owner.daemon)).leases[0]?.member === (await idOf(other.daemon)),
      'it knows',
    )
    await new Promise((resolve) => setTimeout(resolve, 3 * INTERVAL_MS))

    const noted = await run(
      `SELECT of_table, at_ms, row FROM noted WHERE writer = '${owner.name}' AND at_ms > ${claimedAt}`,
      url,
    )
    // A poll from before the claim may arrive late; nothing else of a member that owns nothing.
    const stale = noted.filter(({ of_table: table, row }) => {
      return table === 'votes' || (row as { at_ms: number }).at_ms > claimedAt
    })
    expect(stale).toEqual([])
    await everyoneShows(daemons, 'up')
    for (const daemon of daemons) {
      expect(await incidentsOf(daemon)).toEqual([])
      expect((await clusterOf(daemon)).members).toHaveLength(2)
    }
  },
)
