import { systemClock } from '../src/clock.ts'
import { createRandom } from '../test/proof/random.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../test/support/daemon.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { startFleet } from './fleet.ts'
import { figure, mustBeNone } from './support.ts'

/**
 * 300 endpoints polled twice a second by two members of a cluster (so that four minutes are two hours at the default interval), over
 * a real PostgreSQL with fsync that is restarted ten times: every other time by kill -9, and away for up to five times the lease or
 * half of the time between two restarts. At the end no acknowledged row may be missing, each request that the owner of a network
 * has sent to a node must be one row, and nothing else a row; roll-ups must count each row once. Ends with 1 if not. Run with `npx tsx bench/restarts.ts [minutes] [seed]`.
 */
const [minutes = 4, seed = 1] = process.argv.slice(2).map(Number)
const ENDPOINTS = 300
const NETWORKS = 6
const RESTARTS = 10
const INTERVAL_MS = 500
const LEASE_MS = 2000
const EVERY_MS = (minutes * 60_000) / (RESTARTS + 1)
const AWAY_MS = [500, Math.min(5 * LEASE_MS, EVERY_MS / 2)] as const
/** Only a hang takes longer. */
const WITHIN_MS = 120_000
/** Between a row and its request at the node: first those that are clear, then what a busy machine and a wrong clock delay. */
const APART_MS = [150, 2000] as const
const FIVE_MINUTES_MS = 300_000
const WRITTEN = /^heartline_store_rows_written_total (\d+)$/m

const random = createRandom(seed)
/** By member and endpoint: when it was asked for its newest block, since the epoch. */
const asked = ['m0', 'm1'].map(() => Array.from({ length: ENDPOINTS }, (): number[] => []))
const fleet = await startFleet({
  clock: systemClock,
  family: 'ethereum',
  count: ENDPOINTS,
  origins: 16,
  blockTimeMs: 1000,
  onRequest(endpoint, path, body) {
    const member = Number(/\/m(\d)/.exec(path)?.[1])
    if (body.includes('"latest"')) asked[member]?.[endpoint]?.push(Date.now())
  },
})
const server = await startPostgres(['fsync=on', 'max_connections=100'])
const url = await server.createDatabase()
const folders = asked.map(() => temporaryFolder())
const members: RunningDaemon[] = []
/** Of the members, in their order. */
const ids: string[] = []
try {
  await run()
} finally {
  await Promise.all(members.map((daemon) => daemon.stop('SIGKILL')))
  await Promise.all([fleet.stop(), server.remove()])
  for (const folder of folders) removeFolder(folder)
}

async function run(): Promise<void> {
  for (const [at, folder] of folders.entries()) members.push(await startDaemon(configOf(at), { folder }))
  for (const daemon of members) {
    ids.push((await clusterOf(daemon)).members.find(({ self }) => self)?.id ?? '')
  }
  await until(isShared, 'both members poll', WITHIN_MS)
  await systemClock.sleep(2 * LEASE_MS)
  const from = Date.now()
  let awayMs = 0
  for (let restart = 0; restart < RESTARTS; restart++) {
    const forMs = AWAY_MS[0] + random() * (AWAY_MS[1] - AWAY_MS[0])
    await systemClock.sleep(Math.max(0, from + (restart + 1) * EVERY_MS - Date.now()))
    const wentAt = Date.now()
    await (restart % 2 === 0 ? server.kill() : server.stop())
    await systemClock.sleep(forMs)
    await server.start()
    awayMs += Date.now() - wentAt
  }
  await systemClock.sleep(Math.max(0, from + minutes * 60_000 - Date.now()))
  const to = Date.now()
  await until(isReplayed, 'what waited is written', WITHIN_MS)
  const acknowledged = await Promise.all(
    members.map(async (member) => Number(WRITTEN.exec((await member.get('/metrics')).text)?.[1])),
  )
  const stored = Number((await server.run('SELECT count(*) AS rows FROM polls WHERE vantage_id > 0', url))[0]?.rows)
  await Promise.all(members.map((daemon) => daemon.stop()))
  figure('restarts of PostgreSQL, half of them by kill -9', RESTARTS)
  figure('away, seconds in all', (awayMs / 1000).toFixed(0))
  const rows = acknowledged.reduce((sum, one) => sum + one, 0)
  figure('rows acknowledged to both members', rows)
  mustBeNone('acknowledged rows that are missing', Math.max(0, rows - stored))
  await compare(from, to)
}

/** Each poll and its row, by endpoint. */
async function compare(from: number, until: number): Promise<void> {
  const claims = await readClaims()
  const rows = new Map<string, Row[]>()
  const select = `SELECT name, at_ms::float8 AS at, latency_us IS NOT NULL AS answered
    FROM polls JOIN endpoints USING (endpoint_id) WHERE vantage_id > 0 ORDER BY at_ms`
  for (const { name, at, answered } of await server.run(select, url)) {
    const all = rows.get(String(name)) ?? []
    if (all.length === 0) rows.set(String(name), all)
    all.push({ at: Number(at), isAnswered: answered === true })
  }
  let [polls, compared, lost, others, longest] = [0, 0, 0, 0, 0]
  for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++) {
    const network = `n${endpoint % NETWORKS}`
    const ofNetwork = claims.filter((claim) => claim.network === network)
    const ours = asked.flatMap((of, member) =>
      (of[endpoint] ?? []).filter((at) => ownerAt(ofNetwork, at) === member).map((at) => ({ at })),
    )
    ours.sort((a, b) => a.at - b.at)
    for (const [index, { at }] of ours.entries()) {
      if (at < from || at > until) continue
      polls++
      longest = Math.max(longest, at - (ours[index - 1]?.at ?? at))
    }
    const left = APART_MS.reduce(unmatched, [ours, rows.get(`${network}/e${endpoint}`) ?? []] as const)
    // At the edges, and while the owner changes, one of the two may be just outside.
    const isClear = ({ at }: { readonly at: number }) =>
      at > from && at < until && ofNetwork.every((claim) => Math.abs(claim.at - at) > APART_MS[1])
    compared += ours.filter(isClear).length
    lost += left[0].filter(isClear).length
    others += left[1].filter((row) => row.isAnswered && isClear(row)).length
  }
  figure('polls, of each endpoint', `${polls.toLocaleString('en-US')}, ${Math.round(polls / ENDPOINTS)}`)
  figure('polls that were not sent while the owner changed', compared)
  mustBeNone('polls of an owner without a row', lost)
  mustBeNone('rows of answered polls that no owner has sent', others)
  figure('longest time between two polls of an endpoint', `${longest} ms`)
  const buckets = await server.run(
    `SELECT bucket, sum(polls)::int AS counted, (SELECT count(*)::int FROM polls WHERE vantage_id > 0
       AND at_ms >= bucket * ${FIVE_MINUTES_MS}::bigint AND at_ms < (bucket + 1) * ${FIVE_MINUTES_MS}::bigint) AS stored
     FROM five_minutes GROUP BY bucket`,
    url,
  )
  figure(
    'five-minute buckets rolled up, rows in them',
    `${buckets.length}, ${buckets.map(({ stored }) => stored).join(' ')}`,
  )
  mustBeNone('buckets that count others', buckets.filter(({ counted, stored }) => counted !== stored).length)
}

function configOf(member: number): object {
  const all = fleet.urls.map((base, at) => ({ name: `e${at}`, url: `${base}/m${member}`, checks: ['head'] }))
  return {
    poll: { interval: `${INTERVAL_MS}ms`, timeout: '400ms' },
    store: { url, path: 'spool.db' },
    cluster: { lease: `${LEASE_MS}ms` },
    networks: Array.from({ length: NETWORKS }, (_, network) => ({
      name: `n${network}`,
      family: 'ethereum',
      block_time: '1s',
      endpoints: all.filter((_endpoint, at) => at % NETWORKS === network),
    })),
  }
}

async function isReplayed(): Promise<boolean> {
  const views = await Promise.all(members.map(clusterOf))
  return views.every(({ store }) => store.reachable && store.spool_rows === 0)
}

interface ClusterView {
  readonly members: readonly { readonly id: string; readonly self: boolean }[]
  readonly leases: readonly { readonly member: string | null }[]
  readonly store: { readonly reachable: boolean; readonly spool_rows: number }
}

async function clusterOf(daemon: RunningDaemon): Promise<ClusterView> {
  return JSON.parse((await daemon.get('/api/v1/cluster')).text) as ClusterView
}

async function isShared(): Promise<boolean> {
  const [first] = members
  if (first === undefined) return false
  const { leases } = await clusterOf(first)
  const held = new Map<string | null, number>()
  for (const { member } of leases) held.set(member, (held.get(member) ?? 0) + 1)
  return leases.length === NETWORKS && [...held.values()].every((count) => 2 * count === NETWORKS)
}

interface Row {
  readonly at: number
  readonly isAnswered: boolean
}

type Pairs = readonly [polls: readonly { readonly at: number }[], rows: readonly Row[]]

/** Without the polls and rows that are so close to each other, in their order. */
function unmatched([polls, rows]: Pairs, withinMs: number): Pairs {
  const left: [{ at: number }[], Row[]] = [[], []]
  for (let [nth, other] = [0, 0]; nth < polls.length || other < rows.length; ) {
    const [poll, row] = [polls[nth], rows[other]]
    if (poll !== undefined && (row === undefined || row.at > poll.at + withinMs)) {
      left[0].push(poll)
      nth++
    } else if (row !== undefined && (poll === undefined || row.at < poll.at - withinMs)) {
      left[1].push(row)
      other++
    } else {
      nth++
      other++
    }
  }
  return left
}

interface Claim {
  readonly network: string
  readonly member: number
  readonly at: number
}

/** Who claimed what and when, oldest first. */
async function readClaims(): Promise<readonly Claim[]> {
  const rows = await server.run(
    `SELECT network, member, extract(epoch FROM claimed_at)::float8 * 1000 AS at FROM lease_claims
     WHERE kind = 'poll' ORDER BY claimed_at`,
    url,
  )
  return rows.map(({ network, member, at }) => ({
    network: String(network),
    member: ids.indexOf(String(member)),
    at: Number(at),
  }))
}

function ownerAt(claims: readonly Claim[], at: number): number | undefined {
  return claims.findLast((claim) => claim.at <= at)?.member
}
