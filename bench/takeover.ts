import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/clock.ts'
import { Secret } from '../src/secret.ts'
import { createClusterTables } from '../src/store/postgres/cluster-tables.ts'
import { openDatabase } from '../src/store/postgres/migrate.ts'
import { createPollingMember } from '../test/support/polling-member.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { quantile } from './support.ts'

/**
 * Several daemons over a real PostgreSQL: how long after kill -9 of 50 members, one in each of 50 places, another one of
 * the place has claimed its network, and how long after a changed verdict all other members show it. The members are real,
 * their polls are made up. Run with `npx tsx bench/takeover.ts`.
 */
const PLACES = 50
const LEASE_MS = 15_000
const MEMBERS = 10
const CHANGES = 100

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const server = await startPostgres(['max_connections=200'])
try {
  report(`takeover after kill -9, lease ${LEASE_MS} ms`, await takeovers(await server.createDatabase()))
  report(`a changed verdict on ${MEMBERS - 1} other members`, await changes(await server.createDatabase()))
} finally {
  await server.remove()
}
process.exit(0)

async function takeovers(url: string): Promise<number[]> {
  const child = fork(
    fileURLToPath(new URL('./takeover-process.ts', import.meta.url)),
    [url, `${PLACES}`, `${LEASE_MS}`],
    {
      execArgv: ['--import', 'tsx'],
    },
  )
  await new Promise((resolve) => child.once('message', resolve))
  const database = await openDatabase({ url: new Secret(url), clock: systemClock })
  const tables = createClusterTables(database)
  for (let at = 0; at < PLACES; at++) {
    const vantage = `v${at}`
    const id = `survivor-${vantage}`
    void createPollingMember({ id, vantage, clock: systemClock, tables, leaseMs: LEASE_MS, networks: ['n'] }).start()
    await sleep(1000 / PLACES)
  }
  await sleep(LEASE_MS)
  const [before] = await database.query<{ at: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at',
  )
  child.kill('SIGKILL')
  await sleep(LEASE_MS + 5000)
  const claims = await database.query<{ at: number }>(
    `SELECT extract(epoch FROM claimed_at)::float8 * 1000 AS at FROM lease_claims WHERE kind = 'poll' AND token = 2`,
  )
  if (claims.length !== PLACES) throw new Error(`${claims.length} of ${PLACES} networks were taken over`)
  return claims.map(({ at }) => at - (before?.at ?? 0))
}

async function changes(url: string): Promise<number[]> {
  const members = await Promise.all(
    Array.from({ length: MEMBERS }, async (_, at) => {
      const tables = createClusterTables(await openDatabase({ url: new Secret(url), clock: systemClock }))
      const options = {
        id: `m${at}`,
        vantage: `v${at}`,
        clock: systemClock,
        tables,
        leaseMs: LEASE_MS,
        networks: ['n'],
      }
      const member = createPollingMember(options)
      await member.start()
      return member
    }),
  )
  await sleep(5000)
  const took: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    const verdict = change % 2 === 0 ? ('down' as const) : ('up' as const)
    const [voter, ...others] = members
    // At any time between two exchanges.
    await sleep(300 + ((change * 137) % 1000))
    const changedAt = performance.now()
    const shown = others.map(
      (other) =>
        new Promise<number>((resolve) => {
          const end = other.shown.subscribe(() => {
            const place = other.shown.entry('n', 'own-1')?.places.find(({ vantage }) => vantage === 'v0')
            if (place?.state !== verdict) return
            end()
            resolve(performance.now() - changedAt)
          })
        }),
    )
    voter?.says('n', { verdict, since: voter.clock.now(), conditions: [] })
    voter?.pollNow()
    took.push(...(await Promise.all(shown)))
  }
  return took
}

function report(title: string, times: readonly number[]): void {
  const [half, most, all] = [0.5, 0.99, 1].map((share) => Math.round(quantile(times, share)))
  process.stdout.write(`${title}: median ${half} ms, p99 ${most} ms, longest ${all} ms of ${times.length}\n`)
}
