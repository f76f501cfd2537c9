import { fork, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/clock.ts'
import type { Family } from '../src/core/network.ts'
import type { BareOptions } from './bare-process.ts'
import { startFleetProcess } from './support.ts'

/**
 * The built daemon over many endpoints beside a bare undici loop at the same pace: processor time of the whole process tree, all
 * threads, seen from outside; memory, bytes written, skipped and late polls. They run one after the other, against the same
 * nodes (16 origins, a new block each second).
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

for (const [count, intervalS] of only.length === 2 ? [only.map(Number) as [number, number]] : GOALS) {
  const fleet = await startFleetProcess({ family: family as Family, count, origins: ORIGINS, blockTimeMs: 1000 })
  for (let round = 0; round < Number(rounds); round++) {
    const bare = await measureBare({ urls: fleet.urls, perSecond: count / intervalS, liveness: family === 'avalanche' })
    const daemon = await measureDaemon(fleet.urls, intervalS)
    console.log(
      `${count} endpoints each ${intervalS} s: bare ${bare.toFixed(0)} µs, a poll ${daemon.cpuUs.toFixed(0)} µs, ` +
        `ratio ${(daemon.cpuUs / bare).toFixed(2)}; ${daemon.line}`,
    )
  }
  fleet.stop()
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

async function measureDaemon(urls: readonly string[], intervalS: number): Promise<{ cpuUs: number; line: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  const file = join(folder, 'heartline.yaml')
  const endpoints = urls.map((url, at) => ({ name: `e${at}`, url }))
  const networks = Array.from({ length: NETWORKS }, (_, network) => ({
    name: `n${network}`,
    family,
    endpoints: endpoints.filter((_endpoint, at) => at % NETWORKS === network),
  }))
  const server = { listen: '127.0.0.1:0' }
  writeFileSync(file, JSON.stringify({ server, poll: { interval: `${intervalS}s` }, networks }))
  const profiling =
    profile === undefined ? [] : ['--cpu-prof', '--trace-gc', '--cpu-prof-interval=500', `--diagnostic-dir=${profile}`]
  const daemon = spawn(process.execPath, [...FLAGS, ...profiling, MAIN, 'serve', '-c', file], {
    stdio: ['ignore', profile === undefined ? 'ignore' : 'inherit', 'pipe'],
  })
  const pid = daemon.pid ?? 0
  let log = ''
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const url = await waitFor(() => /"url":"(http[^"]+)\/"/.exec(log)?.[1])
  await waitFor(async () => ((await fetch(`${url}/-/ready`)).status === 200 ? true : undefined))
  await systemClock.sleep(WARM_UP_MS)

  const scrapedAt = performance.now()
  const earlier = await scrape(url)
  const before = usageOf(pid)
  const startedAt = performance.now()
  await systemClock.sleep(Number(seconds) * 1000)
  const lasted = performance.now() - startedAt
  const after = usageOf(pid)
  const betweenScrapes = performance.now() - scrapedAt
  const later = await scrape(url)
  const exited = new Promise((resolve) => daemon.once('exit', resolve))
  daemon.kill('SIGTERM')
  await exited
  rmSync(folder, { recursive: true, force: true })

  const delta = (name: string, labels?: string) => sum(later, name, labels) - sum(earlier, name, labels)
  const checked = delta('heartline_checks_total', 'check="head"')
  // Scrapes take part of the time between the two, in which polls go on.
  const polls = checked * (lasted / betweenScrapes)
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / polls,
    line: [
      `${((1000 * polls) / lasted).toFixed(0)} polls a second`,
      `${(delta('heartline_node_requests_total') / checked).toFixed(2)} requests a poll`,
      `skipped ${delta('heartline_scheduler_skips_total')}`,
      `failed checks ${delta('heartline_check_failures_total')}`,
      `late by at most ${quantileOf(later, earlier, 0.99) * 1000} ms (p99)`,
      `memory at most ${(after.peakBytes / 2 ** 20).toFixed(0)} MiB`,
      `${((after.writtenBytes - before.writtenBytes) / polls / 1000).toFixed(1)} KB written a poll`,
      `by thread ${threadsOf(before, after, polls)}`,
    ].join(', '),
  }
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
  const ofChildren = children.map((child) => usageOf(Number(child)))
  return {
    cpuUs: stat(`/proc/${pid}/stat`, true).ticks * US_PER_TICK + ofChildren.reduce((all, { cpuUs }) => all + cpuUs, 0),
    peakBytes: 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    writtenBytes: Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]),
    threads,
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
