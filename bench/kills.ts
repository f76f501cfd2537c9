import { systemClock } from '../src/clock.ts'
import { createRandom } from '../test/proof/random.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../test/support/daemon.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type Fault, startFleet } from './fleet.ts'
import { figure, mustBeNone, quantile } from './support.ts'

/**
 * Members of a cluster, over a real PostgreSQL, are killed with -9 at random and started again, while endpoints fail and recover as
 * a seed has planned; a daemon alone on SQLite polls the same endpoints and is left alone. Every planned failure must be one
 * incident, with the same states in the same order, of both, and all members must show the same. Ends with 1 if not. Run with
 * `npx tsx bench/kills.ts [kills] [endpoints] [places] [seed]`; with several places, three members are in each, else four. After
 * SIGINT no more members are killed.
 */
const [kills = 200, endpoints = 300, places = 1, seed = 1] = process.argv.slice(2).map(Number)
const INTERVAL_MS = 2000
const LEASE_MS = 6000
const KILL_EVERY_MS = [2000, 4000] as const
const NETWORKS = 6
const START_WITHIN_MS = 120_000
/** A failure lasts longer than a takeover, and begins later than failures count as flapping. */
const FAILS_FOR_MS = [40_000, 60_000] as const
const WELL_FOR_MS = [140_000, 200_000] as const
/** Longer than any run. */
const PLANNED_MS = 7_200_000
/** One after the other, those of a network beginning elsewhere: the same one comes back too late for flapping. */
const FAILURES: readonly (readonly Fault[])[] = [
  ['fails'],
  ['lags', 'closes'],
  ['garbage'],
  ['limits'],
  ['hangs'],
  ['lags'],
]

interface Failure {
  readonly fault: Fault
  /** The first of several that follow each other without a pause. */
  readonly isFirst: boolean
  readonly from: number
  readonly until: number
}

interface IncidentView {
  readonly id: string
  readonly network: string
  readonly endpoint: string | null
  readonly opened_at: string
  readonly closed_at: string | null
  readonly flapping: boolean
}

interface Recorded extends IncidentView {
  readonly states: string
}

interface Reader {
  get(path: string): Promise<{ readonly text: string }> | undefined
}

const random = createRandom(seed)
const between = ([least, most]: readonly [number, number]) => least + random() * (most - least)
let plans: readonly (readonly Failure[])[] = Array.from({ length: endpoints }, (_, at) => planOf(at))
/** When an endpoint was asked by a member of the cluster. */
const asked = plans.map((): number[] => [])
let beganAt = Number.POSITIVE_INFINITY
let isInterrupted = false
process.once('SIGINT', () => {
  isInterrupted = true
})

const fleet = await startFleet({
  clock: systemClock,
  family: 'ethereum',
  count: endpoints,
  origins: endpoints,
  blockTimeMs: 1000,
  faultOf,
  onRequest(index, path) {
    if (path.includes('/member')) asked[index]?.push(performance.now())
  },
})
const server = await startPostgres(['max_connections=100'])
const url = await server.createDatabase()
const folders: string[] = []

const started: RunningDaemon[] = []
try {
  await run()
} finally {
  await Promise.all(started.map((daemon) => daemon.stop('SIGKILL')))
  await Promise.all([fleet.stop(), server.remove()])
  for (const folder of folders) removeFolder(folder)
}

async function run(): Promise<void> {
  const alone = await start({ ...configOf(''), store: { path: 'alone.db' } }, newFolder())
  const members = await Promise.all(
    Array.from({ length: places === 1 ? 4 : 3 * places }, (_, at) => createMember(`place${at % places}`)),
  )
  await until(() => members.every((member) => member.isReady()), 'all members are ready', START_WITHIN_MS)
  beganAt = performance.now()
  figure('endpoints, members, places', `${endpoints}, ${members.length}, ${places}`)
  let killed = 0
  for (let isEnd = false; killed < kills && !isEnd; killed++) {
    await systemClock.sleep(between(KILL_EVERY_MS))
    // A cluster without a live member records nothing.
    await until(() => members.filter((member) => member.isReady()).length > 2, 'two others live', START_WITHIN_MS)
    const ready = members.filter((member) => member.isReady())
    await ready[Math.floor(random() * ready.length)]?.kill()
    isEnd = isInterrupted
  }
  const minutes = (performance.now() - beganAt) / 60_000
  figure('kill -9 of members', killed)
  figure('minutes', minutes.toFixed(1))
  plans = plans.map((plan) => begunBefore(plan, performance.now() - beganAt))
  const endMs = Math.max(...plans.flatMap((plan) => plan.map((one) => one.until)))
  figure('planned failures', plans.flat().filter(({ isFirst }) => isFirst).length)
  await systemClock.sleep(Math.max(0, beganAt + endMs - performance.now()) + LEASE_MS + 10 * INTERVAL_MS)
  await until(() => members.every((member) => member.isReady()), 'all members are ready', START_WITHIN_MS)
  await systemClock.sleep(2 * LEASE_MS)
  await compare(alone, members)
  printWarnings()
}

async function start(config: object, folder: string): Promise<RunningDaemon> {
  const daemon = await startDaemon(config, { folder })
  started.push(daemon)
  return daemon
}

/** What members said that a person should read. */
function printWarnings(): void {
  const log = started.map((daemon) => daemon.log()).join('')
  const said = new Map<string, number>()
  for (const [, level, message] of log.matchAll(/"level":([456]0)[^\n]*"msg":"([^"]*)"/g)) {
    const key = `${level}: ${message}`
    said.set(key, (said.get(key) ?? 0) + 1)
  }
  for (const [message, times] of said) figure(`logged at level ${message}`, times)
}

function planOf(at: number): Failure[] {
  const plan: Failure[] = []
  for (let from = random() * WELL_FOR_MS[1], turn = at + Math.floor(at / NETWORKS); from < PLANNED_MS; turn++) {
    for (const [index, fault] of (FAILURES[turn % FAILURES.length] ?? []).entries()) {
      const end = from + between(FAILS_FOR_MS)
      plan.push({ fault, isFirst: index === 0, from, until: end })
      from = end
    }
    from += between(WELL_FOR_MS)
  }
  return plan
}

function begunBefore(plan: readonly Failure[], time: number): readonly Failure[] {
  const end = plan.findIndex(({ isFirst, from }) => isFirst && from > time)
  return end < 0 ? plan : plan.slice(0, end)
}

function faultOf(index: number): Fault | null {
  const passed = performance.now() - beganAt
  return plans[index]?.find((one) => passed >= one.from && passed < one.until)?.fault ?? null
}

function newFolder(): string {
  const folder = temporaryFolder()
  folders.push(folder)
  return folder
}

function configOf(by: string): object {
  const all = fleet.urls.map((base, at) => ({ name: `e${at}`, url: `${base}${by}`, checks: ['head'] }))
  return {
    poll: { interval: `${INTERVAL_MS}ms`, timeout: '1s' },
    networks: Array.from({ length: NETWORKS }, (_, network) => ({
      name: `n${network}`,
      family: 'ethereum',
      block_time: '1s',
      endpoints: all.filter((_endpoint, at) => at % NETWORKS === network),
    })),
  }
}

/** A member that is started again, in the same folder, as soon as it was killed. */
async function createMember(vantage: string) {
  const folder = newFolder()
  const config = {
    ...configOf('/member'),
    store: { url, path: 'spool.db' },
    cluster: { vantage, lease: `${LEASE_MS}ms` },
  }
  let daemon: RunningDaemon | null = null

  async function join(): Promise<void> {
    daemon = await start(config, folder)
  }

  await join()
  return {
    isReady: () => daemon !== null,
    get: (path: string) => daemon?.get(path),
    async kill(): Promise<void> {
      const killed = daemon
      daemon = null
      await killed?.stop('SIGKILL')
      void join().catch((error: unknown) => {
        console.error(error)
        process.exitCode = 1
      })
    },
  }
}

async function compare(alone: RunningDaemon, members: readonly Reader[]): Promise<void> {
  const expected = await incidentsOf(alone)
  const found = await Promise.all(members.map(incidentsOf))
  const [first = []] = found
  figure('incidents of the daemon alone, of the cluster', `${expected.length}, ${first.length}`)
  mustBeNone('members that show other incidents', found.filter((one) => keyOf(one) !== keyOf(first)).length)
  const unfinished = [...expected, ...first].filter((one) => one.closed_at === null || one.flapping)
  mustBeNone('incidents still open, or flapping', unfinished.length)
  const wrong: string[] = []
  const apart = { opened_at: [] as number[], closed_at: [] as number[] }
  const late: string[] = []
  for (const [at, plan] of plans.entries()) {
    const planned = plan.filter(({ isFirst }) => isFirst).length
    const of = (all: readonly Recorded[]) => all.filter(({ endpoint }) => endpoint === `e${at}`)
    const [theirs, ours] = [of(expected), of(first)]
    const states = (all: readonly Recorded[]) => all.map((one) => one.states).join(' | ')
    if (theirs.length !== planned || states(theirs) !== states(ours)) {
      wrong.push(`e${at}: ${planned} planned; alone ${keyOf(theirs)}; cluster ${keyOf(ours)}`)
      continue
    }
    for (const [index, one] of ours.entries()) {
      for (const what of ['opened_at', 'closed_at'] as const) {
        const moment = Date.parse(theirs[index]?.[what] ?? '')
        const differs = Math.abs(Date.parse(one[what] ?? '') - moment)
        apart[what].push(differs)
        if (differs <= LEASE_MS + INTERVAL_MS) continue
        const gap = unpolledMs(asked[at] ?? [], moment - differs, moment + differs)
        const reason = `${one.id} ${what}: ${differs} ms apart, not asked by a member for ${gap.toFixed(0)} ms`
        late.push(reason)
        if (differs > gap + 2 * INTERVAL_MS) wrong.push(reason)
      }
    }
  }
  const networkWide = [...expected, ...first].filter(({ endpoint }) => endpoint === null)
  mustBeNone('incidents of several endpoints, which were never planned', networkWide.length)
  mustBeNone('incidents lost, double, with other states, or late without a reason', wrong.length)
  for (const one of wrong) console.log(one)
  for (const [what, times] of Object.entries(apart)) {
    const [half, most, all] = [0.5, 0.99, 1].map((share) => quantile(times, share))
    figure(`${what}: apart from the daemon alone, median, p99, most`, `${half} ms, ${most} ms, ${all} ms`)
  }
  figure('further apart than lease and interval, since no member polled', late.length)
  for (const one of late.slice(0, 5)) console.log(one)
}

/** How long no member polled, in pauses that began or ended between these times (since the epoch). */
function unpolledMs(times: readonly number[], from: number, until: number): number {
  let sum = 0
  for (const [index, time] of times.entries()) {
    const before = times[index - 1] ?? time
    const isNear = performance.timeOrigin + time >= from && performance.timeOrigin + before <= until
    if (isNear && time - before > 2 * INTERVAL_MS) sum += time - before
  }
  return sum
}

async function incidentsOf(daemon: Reader): Promise<Recorded[]> {
  const all: Recorded[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: string = (await daemon.get(`/api/v1/incidents?limit=200${cursor && `&cursor=${cursor}`}`))?.text ?? ''
    const { incidents, next_cursor: next } = JSON.parse(page) as {
      incidents: IncidentView[]
      next_cursor: string | null
    }
    for (const one of incidents) {
      const { text } = (await daemon.get(`/api/v1/incidents/${one.id}`)) ?? { text: '' }
      const { changes } = JSON.parse(text) as { changes: { state: string; codes: string[] }[] }
      const states = changes
        .map(({ state, codes }) => [state, ...(state === 'down' ? codes.filter(isKnownWhileDown) : codes)].join(':'))
        .filter((state, at, before) => state !== before[at - 1])
      all.push({ ...one, states: states.join(' ') })
    }
    cursor = next
  }
  return all.sort((a, b) => Date.parse(a.opened_at) - Date.parse(b.opened_at))
}

/** A new owner keeps the lag of an endpoint that is down now, until it has polled all others. */
function isKnownWhileDown(code: string): boolean {
  return code !== 'lagging'
}

function keyOf(all: readonly Recorded[]): string {
  return all.map(describe).sort().join()
}

function describe({ id, states, opened_at: from, closed_at: to }: Recorded): string {
  return `${id} ${states} (${from} to ${to})`
}
