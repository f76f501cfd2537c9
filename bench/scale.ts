import { fork, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/clock.ts'
import type { Family } from '../src/core/network.ts'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import type { BareOptions } from './bare-process.ts'
import { startFleetProcess } from './support.ts'

/**
 * The built daemon over many endpoints beside a bare undici loop at the same pace: processor time of the whole process tree, all
 * threads, seen from outside; memory, bytes written, skipped and late polls. They run one after the other, against the same
 * nodes (16 origins, a new block each second). With POSTGRES=alone then a daemon on PostgreSQL, with POSTGRES=members then two
 * members of a cluster that share the endpoints, and the processor time of their database.
 * Run with `npx tsx bench/scale.ts [ethereum|avalanche] [seconds] [rounds] [endpoints interval]`; PROFILE=DIR has the daemon write V8 profiles, FLAGS are more options of Node, BUILD=DIR takes
 * it from another build than `dist`.
 */
const MAIN = fileURLToPath(new URL(`../${process.env['BUILD'] ?? 'dist'}/src/main.js`, import.meta.url))
const BARE = fileURLToPath(new URL('./bare-process.ts', import.meta.url))
const NETWORKS = 10
const GOALS: readonly [endpoints: number, intervalS: number][] = [
  [1000, 1],
  [10_000, 10],
]
const ORIGINS = 16
const [family = 'ethereum', seconds = '20', rounds = '1', ...only] = process.argv.slice(2).map(String)
const profile = process.env['PROFILE']
const FLAGS = (process.env['FLAGS'] ?? '').split(' ').filter(Boolean)
/** The kernel counts processor time in ticks. */
const US_PER_TICK = 10_000
/** Opens all connections, polls every endpoint, and lets the engine compile what is hot. */
const WARM_UP_MS = 20_000

const postgres = process.env['POSTGRES']
const server = postgres === undefined ? null : await startPostgres(['shared_buffers=64MB', 'fsync=on'])
try {
  for (const [count, intervalS] of only.length === 2 ? [only.map(Number) as [number, number]] : GOALS) {
    const fleet = await startFleetProcess({ family: family as Family, count, origins: ORIGINS, blockTimeMs: 1000 })
    for (let round = 0; round < Number(rounds); round++) await compare(fleet.urls, intervalS)
    fleet.stop()
  }
} finally {
  await server?.remove()
}

async function compare(urls: readonly string[], intervalS: number): Promise<void> {
  const what = `${urls.length} endpoints each ${intervalS} s`
  const bare = await measureBare({ urls, perSecond: urls.length / intervalS, liveness: family === 'avalanche' })
  const [daemon] = await measure(urls, intervalS, [{}])
  if (daemon === undefined) throw new Error('nothing was measured')
  console.log(`${what}: bare ${bare.toFixed(0)} µs, ${lineOf(daemon)}, ratio ${(daemon.cpuUs / bare).toFixed(2)}`)
  if (server === null) return
  for (const one of await measure(urls, intervalS, await partsOn(server, intervalS), server.pid)) {
    const [ofPoll, ofCore] = [one.cpuUs / daemon.cpuUs, one.share / daemon.share].map((ratio) => ratio.toFixed(2))
    const ratios = `${ofPoll} times the CPU of a poll on SQLite, ${ofCore} times the CPU of the daemon on SQLite`
    console.log(`${what}, PostgreSQL: ${lineOf(one)}, ratio ${(one.cpuUs / bare).toFixed(2)}, ${ratios}`)
  }
}

/** What the configurations of the daemons on PostgreSQL have beyond that of the one on SQLite. */
async function partsOn({ createDatabase }: PostgresServer, intervalS: number): Promise<readonly object[]> {
  const store = { url: await createDatabase() }
  if (postgres !== 'members') return [{ store }]
  const member = { store, cluster: { lease: `${Math.max(15, 3 * intervalS)}s` } }
  return [member, member]
}

function lineOf({ cpuUs, share, line }: Measured): string {
  return `a poll ${cpuUs.toFixed(0)} µs, ${(100 * share).toFixed(1)} % of a core, ${line}`
}

/** Processor time of one turn of the bare loop, in microseconds. */
async function measureBare(options: BareOptions): Promise<number> {
  const child = fork(BARE, { execArgv: ['--import', 'tsx'] })
  child.send(options)
  await systemClock.sleep(WARM_UP_MS / 2)
  const before = usageOf(child.pid ?? 0)
  const startedAt = performance.now()
  await systemClock.sleep(Number(seconds) * 1000)
  const turns = (options.perSecond * (performance.now() - startedAt)) / 1000
  const { cpuUs } = usageOf(child.pid ?? 0)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.disconnect()
  await exited
  return (cpuUs - before.cpuUs) / turns
}

interface Measured {
  /** Processor time of a poll, in microseconds. */
  readonly cpuUs: number
  /** Of one core. */
  readonly share: number
  readonly line: string
}

/** Daemons with these parts of a configuration, at the same time; `database` is the process of their PostgreSQL. */
async function measure(
  urls: readonly string[],
  intervalS: number,
  parts: readonly object[],
  database?: number,
): Promise<readonly Measured[]> {
  const daemons = await Promise.all(parts.map((part) => startDaemon(urls, intervalS, part)))
  const [first] = daemons
  if (first !== undefined && daemons.length > 1) await waitFor(() => isShared(first, daemons.length))
  await systemClock.sleep(WARM_UP_MS)

  const earlier = await Promise.all(daemons.map(readingAfterItsScrape))
  const databaseUs = database === undefined ? 0 : usageOf(database).cpuUs
  await systemClock.sleep(Number(seconds) * 1000)
  const ofDatabase = database === undefined ? null : usageOf(database).cpuUs - databaseUs
  const later = await Promise.all(daemons.map(readingBeforeItsScrape))
  await Promise.all(daemons.map(({ stop }) => stop()))
  return daemons.map((_daemon, at) => measuredOf(earlier[at], later[at], ofDatabase))
}

/** Whether each member polls as many networks as the others. */
async function isShared({ url }: Running, members: number): Promise<true | undefined> {
  const answer = await fetch(`${url}/api/v1/cluster`)
  const { leases } = (await answer.json()) as { leases: readonly { readonly member: string | null }[] }
  const held = new Map<string | null, number>()
  for (const { member } of leases) held.set(member, (held.get(member) ?? 0) + 1)
  return held.size === members && [...held.values()].every((count) => count === NETWORKS / members) ? true : undefined
}

interface Running {
  readonly pid: number
  readonly url: string
  stop(): Promise<void>
}

async function startDaemon(urls: readonly string[], intervalS: number, part: object): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  const file = join(folder, 'heartline.yaml')
  const endpoints = urls.map((url, at) => ({ name: `e${at}`, url }))
  const networks = Array.from({ length: NETWORKS }, (_, network) => ({
    name: `n${network}`,
    family,
    endpoints: endpoints.filter((_endpoint, at) => at % NETWORKS === network),
  }))
  // Once a minute it would be in the measured time of one daemon and not of another: only the first polls have it.
  const poll = { interval: `${intervalS}s`, liveness_interval: '1h' }
  const config = { server: { listen: '127.0.0.1:0' }, poll, networks, ...part }
  writeFileSync(file, JSON.stringify(config))
  const profiling =
    profile === undefined ? [] : ['--cpu-prof', '--trace-gc', '--cpu-prof-interval=500', `--diagnostic-dir=${profile}`]
  const daemon = spawn(process.execPath, [...FLAGS, ...profiling, MAIN, 'serve', '-c', file], {
    stdio: ['ignore', profile === undefined ? 'ignore' : 'inherit', 'pipe'],
  })
  let log = ''
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const url = await waitFor(() => /"url":"(http[^"]+)\/"/.exec(log)?.[1])
  await waitFor(async () => ((await fetch(`${url}/-/ready`)).status === 200 ? true : undefined))
  return {
    pid: daemon.pid ?? 0,
    url,
    async stop(): Promise<void> {
      const exited = new Promise((resolve) => daemon.once('exit', resolve))
      daemon.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Reading {
  readonly at: number
  readonly usage: Usage
  readonly scrapedAt: number
  readonly metrics: string
}

/** What a scrape costs is not counted: it comes before the first usage, and after the last. */
async function readingAfterItsScrape({ pid, url }: Running): Promise<Reading> {
  const scrapedAt = performance.now()
  const metrics = await scrape(url)
  return { scrapedAt, metrics, at: performance.now(), usage: usageOf(pid) }
}

async function readingBeforeItsScrape({ pid, url }: Running): Promise<Reading> {
  const [at, usage] = [performance.now(), usageOf(pid)]
  const scrapedAt = performance.now()
  return { at, usage, scrapedAt, metrics: await scrape(url) }
}

function measuredOf(before: Reading | undefined, after: Reading | undefined, databaseUs: number | null): Measured {
  if (before === undefined || after === undefined) throw new Error('nothing was measured')
  const lasted = after.at - before.at
  const delta = (name: string, labels?: string) => sum(after.metrics, name, labels) - sum(before.metrics, name, labels)
  const checked = delta('heartline_checks_total', 'check="head"')
  // Scrapes take part of the time between the two, in which polls go on.
  const polls = checked * (lasted / (after.scrapedAt - before.scrapedAt))
  const cpuUs = after.usage.cpuUs - before.usage.cpuUs
  const parts = [
    `${((1000 * polls) / lasted).toFixed(0)} polls a second`,
    `${(delta('heartline_node_requests_total') / checked).toFixed(2)} requests a poll`,
    `skipped ${delta('heartline_scheduler_skips_total')}`,
    `failed checks ${delta('heartline_check_failures_total')}`,
    `late by at most ${quantileOf(after.metrics, before.metrics, 0.99) * 1000} ms (p99)`,
    `memory at most ${(after.usage.peakBytes / 2 ** 20).toFixed(0)} MiB`,
    `${((after.usage.writtenBytes - before.usage.writtenBytes) / polls / 1000).toFixed(1)} KB written a poll`,
    `by thread ${threadsOf(before.usage, after.usage, polls)}`,
  ]
  if (databaseUs !== null) parts.push(`PostgreSQL ${(databaseUs / lasted / 10).toFixed(1)} % of a core`)
  return { cpuUs: cpuUs / polls, share: cpuUs / 1000 / lasted, line: parts.join(', ') }
}

interface Usage {
  readonly cpuUs: number
  readonly peakBytes: number
  readonly writtenBytes: number
  /** Processor time by name of the thread, of the first process only. */
  readonly threads: ReadonlyMap<string, number>
}

/** What a process and its children, also those that have ended, have used. */
function usageOf(pid: number): Usage {
  const threads = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const { name, ticks } = stat(`/proc/${pid}/task/${thread}/stat`, false)
    const title = thread === String(pid) ? 'main' : `${name} ${thread}`
    threads.set(title, (threads.get(title) ?? 0) + ticks * US_PER_TICK)
  }
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  const ofChildren = children.flatMap((child) => usageIfRunning(Number(child)) ?? [])
  return {
    cpuUs: stat(`/proc/${pid}/stat`, true).ticks * US_PER_TICK + ofChildren.reduce((all, { cpuUs }) => all + cpuUs, 0),
    peakBytes: 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    writtenBytes: Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]),
    threads,
  }
}

/** `null` if it has ended since it was listed: its parent has its time then. */
function usageIfRunning(pid: number): Usage | null {
  try {
    return usageOf(pid)
  } catch {
    return null
  }
}

function stat(file: string, withChildren: boolean): { readonly name: string; readonly ticks: number } {
  const line = readFileSync(file, 'utf8')
  const [, name = ''] = /\((.*)\)/.exec(line) ?? []
  // Fields 14 to 17 of proc(5); the name in field 2 may have spaces.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const used = fields.slice(11, withChildren ? 15 : 13)
  return { name, ticks: used.reduce((all, ticks) => all + Number(ticks), 0) }
}

function threadsOf(before: Usage, after: Usage, polls: number): string {
  return [...after.threads]
    .map(([name, us]) => [name, (us - (before.threads.get(name) ?? 0)) / polls] as const)
    .filter(([, us]) => us >= 0.5)
    .map(([name, us]) => `${name} ${us.toFixed(0)} µs`)
    .join(' + ')
}

/** On a new connection: the daemon may just have closed the one of the last scrape. */
function scrape(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(`${url}/metrics`, { agent: false }, (response) => void text(response).then(resolve, reject)).on('error', reject)
  })
}

/** Of the series whose labels contain this text. */
function sum(metrics: string, name: string, labels = ''): number {
  let total = 0
  for (const [, of = '', value] of metrics.matchAll(new RegExp(`^${name}(\\{[^\\n]*\\})? (\\S+)$`, 'gm')))
    if (of.includes(labels)) total += Number(value)
  return total
}

/** The upper border of the bucket that holds the quantile. */
function quantileOf(metrics: string, earlier: string, share: number): number {
  const buckets = (of: string) =>
    [...of.matchAll(/^heartline_scheduler_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
      ([, le, count]) => [Number(le === '+Inf' ? Infinity : le), Number(count)] as const,
    )
  const then = new Map(buckets(earlier))
  const counts = buckets(metrics).map(([le, count]) => [le, count - (then.get(le) ?? 0)] as const)
  const all = counts.at(-1)?.[1] ?? 0
  return counts.find(([, count]) => count >= share * all)?.[0] ?? Number.NaN
}

async function waitFor<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await Promise.resolve(look()).catch(() => undefined)
    if (found !== undefined) return found
    await systemClock.sleep(10)
  }
}
