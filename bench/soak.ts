import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { systemClock } from '../src/clock.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { startFleetProcess } from './support.ts'

/**
 * 300 endpoints polled twice a second (so that four minutes are two hours at the default interval), a tenth of them with a fault
 * that changes every ten seconds, 100 forwarded requests a second, a scrape and a status every two seconds, and a store at its
 * quota. Prints the least-squares slope of memory, descriptors, store size and scheduler lag over the second half; exits with 1 if
 * one of them grows by more than a tenth in that time. Run with `npx tsx bench/soak.ts [minutes]`; POSTGRES=1 has a member of a
 * cluster over PostgreSQL, whose database keeps everything.
 */
const [, , minutes = '4'] = process.argv
const FOR_MS = Number(minutes) * 60_000
const ENDPOINTS = 300
const FORWARDED_PER_SECOND = 100
const SAMPLE_MS = 2000
const MOST_GROWTH = 0.1
const CALLER = 'soak-caller-0123456789'
const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'heartline-soak-'))
const database = join(folder, 'heartline.db')
const server = process.env['POSTGRES'] === undefined ? null : await startPostgres()
const databaseUrl = await server?.createDatabase()
const options = { family: 'ethereum', count: ENDPOINTS, origins: 16, blockTimeMs: 1000, faultMs: 10_000 } as const
const fleet = await startFleetProcess(options)
const file = join(folder, 'heartline.yaml')
writeFileSync(
  file,
  JSON.stringify({
    server: { listen: '127.0.0.1:0' },
    ...(databaseUrl === undefined
      ? { store: { path: database, max_size: '2MiB' } }
      : { store: { url: databaseUrl }, cluster: { lease: '15s' } }),
    poll: { interval: '500ms' },
    networks: [
      {
        name: 'ethereum',
        family: 'ethereum',
        block_time: '1s',
        endpoints: fleet.urls.map((url, at) => ({ name: `e${at}`, url })),
      },
    ],
    gateway: { enabled: true, listen: '127.0.0.1:0', callers: [{ name: 'soak', endpoint_id: CALLER }] },
  }),
)
const daemon = spawn(process.execPath, [MAIN, 'serve', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
const pid = daemon.pid ?? 0
let log = ''
daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
  if (log.length < 100_000) log += text
})
const page = new Pool(await urlIn('listening'), { connections: 2 })
const gateway = new Pool(await urlIn('gateway listening'), { connections: 16 })

interface Sample {
  readonly at: number
  readonly memoryMiB: number
  readonly heapMiB: number
  readonly descriptors: number
  readonly storeMiB: number
  readonly lagMs: number
}

const samples: Sample[] = []
const forwarded = { ok: 0, rejected: 0, failed: 0 }
const startedAt = performance.now()
let nextSample = SAMPLE_MS
let lagBefore = { sum: 0, count: 0 }
for (let turn = 0; performance.now() - startedAt < FOR_MS; ) {
  const passed = performance.now() - startedAt
  for (; turn < (passed / 1000) * FORWARDED_PER_SECOND; turn++) void forward(turn)
  if (passed >= nextSample) {
    nextSample += SAMPLE_MS
    await sample(passed)
  }
  await systemClock.sleep(10)
}
const half = samples.filter(({ at }) => at >= FOR_MS / 2)
console.log(`${samples.length} samples in ${minutes} minutes; forwarded ${JSON.stringify(forwarded)}`)
for (const [name, of, slack] of [
  ['memory (RSS), MiB', (one: Sample) => one.memoryMiB, 0],
  ['heap, MiB', (one: Sample) => one.heapMiB, 0],
  ['descriptors', (one: Sample) => one.descriptors, 0],
  ...(server === null ? ([['store, MiB', (one: Sample) => one.storeMiB, 0]] as const) : []),
  ['scheduler lag, ms', (one: Sample) => one.lagMs, 5],
] as const) {
  const mean = half.reduce((sum, one) => sum + of(one), 0) / half.length
  const growth = slopeOf(half, of) * (FOR_MS / 2)
  const grows = growth > MOST_GROWTH * mean + slack
  if (grows) process.exitCode = 1
  const share = `${((100 * growth) / mean).toFixed(1)} %`
  console.log(
    `${name}: mean ${mean.toFixed(1)}, slope over the half ${growth.toFixed(2)} (${share})${grows ? ', GROWS' : ''}`,
  )
}
daemon.kill('SIGTERM')
await new Promise((resolve) => daemon.once('exit', resolve))
await server?.remove()
await Promise.all([page.destroy(), gateway.destroy()])
fleet.stop()
rmSync(folder, { recursive: true, force: true })

/** The nodes have only their latest block; the gateway refuses an answer with another than the requested one. */
async function forward(turn: number): Promise<void> {
  const body = `{"jsonrpc":"2.0","id":${turn + 1},"method":"eth_getBlockByNumber","params":["latest",false]}`
  const headers = { 'content-type': 'application/json' }
  try {
    const answer = await gateway.request({ method: 'POST', path: `/ethereum/${CALLER}`, headers, body })
    await answer.body.dump()
    forwarded[answer.statusCode === 200 ? 'ok' : 'rejected']++
  } catch {
    forwarded.failed++
  }
}

async function sample(at: number): Promise<void> {
  const metrics = await textOf('/metrics')
  await textOf('/api/v1/status')
  const lag = {
    sum: numberIn(metrics, 'scheduler_lag_seconds_sum'),
    count: numberIn(metrics, 'scheduler_lag_seconds_count'),
  }
  const lagMs = (1000 * (lag.sum - lagBefore.sum)) / Math.max(1, lag.count - lagBefore.count)
  lagBefore = lag
  samples.push({
    at,
    memoryMiB: Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    heapMiB: Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics)?.[1]) / 2 ** 20,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    storeMiB:
      ['', '-wal'].reduce((sum, end) => sum + (statSync(database + end, { throwIfNoEntry: false })?.size ?? 0), 0) /
      2 ** 20,
    lagMs,
  })
}

async function textOf(path: string): Promise<string> {
  return (await page.request({ method: 'GET', path })).body.text()
}

function numberIn(metrics: string, name: string): number {
  return Number(new RegExp(`^heartline_${name} (\\S+)$`, 'm').exec(metrics)?.[1])
}

/** Per millisecond. */
function slopeOf(all: readonly Sample[], of: (one: Sample) => number): number {
  const meanAt = all.reduce((sum, { at }) => sum + at, 0) / all.length
  const mean = all.reduce((sum, one) => sum + of(one), 0) / all.length
  const spread = all.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0)
  return all.reduce((sum, one) => sum + (one.at - meanAt) * (of(one) - mean), 0) / spread
}

async function urlIn(message: string): Promise<string> {
  for (;;) {
    const found = new RegExp(`"url":"(http[^"]+)/"[^\\n]*"msg":"${message}"`).exec(log)?.[1]
    if (found !== undefined) return found
    await systemClock.sleep(20)
  }
}
