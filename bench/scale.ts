import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/clock.ts'
import { median, startFleetProcess } from './support.ts'

/**
 * The built daemon on one core over many endpoints, nodes in another process on the other: skipped polls, how late polls
 * start, memory, processor time. It is scraped each 15 s
 * meanwhile, and with 1,000 endpoints its status is requested as well. Run with `npx tsx bench/scale.ts`.
 */
const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const NETWORKS = 10
const WARM_UP_MS = 15_000

for (const [count, interval, forMs, asksStatus] of [
  [1000, '1s', 60_000, true],
  [10_000, '10s', 60_000, false],
] as const) {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  const fleet = await startFleetProcess({ family: 'avalanche', count, origins: NETWORKS })
  const file = join(folder, 'heartline.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      server: { listen: '127.0.0.1:0' },
      poll: { interval },
      networks: Array.from({ length: NETWORKS }, (_, network) => ({
        name: `n${network}`,
        family: 'avalanche',
        endpoints: fleet.urls
          .map((url, at) => ({ name: `e${at}`, url }))
          .filter((_endpoint, at) => at % NETWORKS === network),
      })),
    }),
  )
  const daemon = spawn('taskset', ['-c', '1', process.execPath, MAIN, 'serve', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const exited = new Promise((resolve) => daemon.once('exit', resolve))
  const startedAt = performance.now()
  const url = await waitFor(() => /"url":"(http[^"]+)\/"/.exec(log)?.[1])
  const listening = performance.now() - startedAt
  await waitFor(async () => ((await fetch(`${url}/-/ready`)).status === 200 ? true : undefined))
  const ready = performance.now() - startedAt

  // The first seconds open every connection, and let the engine see what is hot.
  await systemClock.sleep(WARM_UP_MS)
  const before = await scrape(url)
  const statuses: number[] = []
  const end = performance.now() + forMs
  while (performance.now() < end) {
    await systemClock.sleep(15_000)
    const asked = performance.now()
    if (asksStatus) await (await fetch(`${url}/api/v1/status`)).text()
    statuses.push(performance.now() - asked)
    await scrape(url)
  }
  const after = await scrape(url)
  const polls = delta('heartline_checks_total') / 2
  const cpu = delta('process_cpu_seconds_total')
  const rss = Math.max(one(after, 'process_resident_memory_bytes'), peak(daemon.pid ?? 0))
  console.log(
    [
      `${count} endpoints each ${interval}:`,
      `${(polls / (forMs / 1000)).toFixed(0)} polls a second`,
      `skipped ${delta('heartline_scheduler_skips_total')}`,
      `p99 of lag at most ${quantileOf(after, before, 0.99) * 1000} ms (p99.9 ${quantileOf(after, before, 0.999) * 1000} ms)`,
      `memory at most ${(rss / 2 ** 20).toFixed(0)} MiB`,
      `${((cpu * 1e6) / polls).toFixed(0)} µs of processor a poll`,
      `${((100 * cpu) / (forMs / 1000)).toFixed(0)} % of a core, scrapes included`,
      `listening after ${listening.toFixed(0)} ms, first round done after ${ready.toFixed(0)} ms`,
      `failed checks ${delta('heartline_check_failures_total')}`,
      asksStatus ? `status in ${median(statuses).toFixed(0)} ms` : 'status not asked for',
    ].join(', '),
  )
  daemon.kill('SIGTERM')
  await exited
  fleet.stop()
  rmSync(folder, { recursive: true, force: true })

  function delta(name: string): number {
    return sum(after, name) - sum(before, name)
  }
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

function sum(text: string, name: string): number {
  let total = 0
  for (const [, value] of text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? (\\S+)$`, 'gm'))) total += Number(value)
  return total
}

function one(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** The upper border of the bucket that holds the quantile. */
function quantileOf(text: string, earlier: string, share: number): number {
  const buckets = (of: string) =>
    [...of.matchAll(/^heartline_scheduler_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
      ([, le, count]) => [Number(le === '+Inf' ? Infinity : le), Number(count)] as const,
    )
  const then = new Map(buckets(earlier))
  const counts = buckets(text).map(([le, count]) => [le, count - (then.get(le) ?? 0)] as const)
  const all = counts.at(-1)?.[1] ?? 0
  return counts.find(([, count]) => count >= share * all)?.[0] ?? Number.NaN
}

/** The most memory that a process ever held, in bytes. */
function peak(pid: number): number {
  const status = execFileSync('cat', [`/proc/${pid}/status`], { encoding: 'utf8' })
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
}

async function waitFor<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await Promise.resolve(look()).catch(() => undefined)
    if (found !== undefined) return found
    await systemClock.sleep(10)
  }
}
