import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { AttackHello, AttackName, AttackOrder, AttackReport } from './attack-process.ts'
import type { LoadOrder, LoadReport } from './load-process.ts'

/**
 * Every way to hold or use up what callers share, each alone and then all at once, against the built daemon: idle connections, half-open
 * TLS handshakes, slow heads and bodies, one-byte chunks of callers and of nodes, chunk lines without end, pipelines, unread event streams
 * and answers, compressed overviews, a flood of requests. Reports what another caller at a constant rate and the polls notice. The daemon has a core of its own; attack, load and nodes run at constant rates
 * on the other, and report how late they are themselves.
 *
 * `npx tsx bench/attack.ts [seconds a phase] [requests a second] [part of an attack's name, several parts with commas between them for these together, or together]`
 */
const [, , seconds = '6', pace = '200', only = ''] = process.argv
const PHASE_MS = Number(seconds) * 1000
const GOOD = 'good-caller-0123456789'
const BAD = 'bad-caller-0123456789a'
const POLLED = 200
const MEASURED_CORE = 0
const OTHER_CORE = Math.min(1, availableParallelism() - 1)
/** Until everything is open and its first requests are answered. */
const SETTLE_MS = 8000
/** Until what was released is gone. */
const RELEASE_MS = 2000
const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const TLS_FILE = (name: string) => fileURLToPath(new URL(`../test/config/tls/${name}`, import.meta.url))

const cleanups: (() => void)[] = []

/** A program of this folder on the core that is not measured; resolves with what it tells first. */
function start<Hello>(file: string, args: readonly string[] = []): Promise<[ChildProcess, Hello]> {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn('taskset', ['-c', `${OTHER_CORE}`, process.execPath, '--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  cleanups.push(() => child.disconnect())
  return new Promise((resolve) => child.once('message', (hello) => resolve([child, hello as Hello])))
}

const agent = new Agent({ connect: { rejectUnauthorized: false } })
const [, { port: nodePort }] = await start<{ port: number }>('node-process.ts')
const [, fleet] = await start<{ urls: readonly string[] }>('fleet-process.ts', [
  JSON.stringify({ family: 'ethereum', count: POLLED }),
])
const [loader] = await start('load-process.ts')
const [attacker, { names, nodes }] = await start<AttackHello>('attack-process.ts')

const folder = mkdtempSync(join(tmpdir(), 'heartline-attack-'))
cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'heartline.yaml')
const endpoint = { name: 'node', url: `http://127.0.0.1:${nodePort}` }
writeFileSync(
  file,
  JSON.stringify({
    server: { listen: '127.0.0.1:0', tls: { cert: TLS_FILE('a.crt'), key: TLS_FILE('a.key') } },
    networks: [
      { name: 'ethereum', family: 'ethereum', endpoints: [endpoint] },
      {
        name: 'fleet',
        family: 'ethereum',
        poll: { interval: '1s' },
        endpoints: fleet.urls.map((url, at) => ({ name: `e${at}`, url })),
      },
      {
        name: 'hostile',
        family: 'ethereum',
        poll: { interval: '1s' },
        endpoints: nodes.map((url, at) => ({ name: `h${at}`, url })),
      },
    ],
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      callers: [
        { name: 'good', endpoint_id: GOOD },
        { name: 'bad', endpoint_id: BAD, methods: ['eth_newFilter'] },
      ],
    },
  }),
)
const flags = process.env.DAEMON_FLAGS?.split(' ') ?? []
const daemon = spawn('taskset', ['-c', `${MEASURED_CORE}`, process.execPath, ...flags, MAIN, 'serve', '-c', file], {
  stdio: ['ignore', 'ignore', 'pipe'],
})
cleanups.push(() => daemon.kill())
let log = ''
daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
  log += text
})

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function waitFor<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await pause(50)
  }
}

const page = await waitFor(() => /"url":"(https[^"]+)\/"[^\n]*"msg":"listening"/.exec(log)?.[1])
const pagePort = Number(new URL(page).port)
const gatewayPort = Number(/:(\d+)\/"[^\n]*"msg":"gateway listening"/.exec(log)?.[1])
await waitFor(async () =>
  (await request(`${page}/-/ready`, { dispatcher: agent })).statusCode === 200 ? true : undefined,
)

/** Upper bounds of the buckets of scheduler lag with their counts so far. */
async function lagBuckets(): Promise<[string, number][]> {
  const { body } = await request(`${page}/metrics`, { dispatcher: agent })
  const text = await body.text()
  return [...text.matchAll(/^heartline_scheduler_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
    ([, le = '', count]) => [le, Number(count)],
  )
}

function p99(before: readonly [string, number][], after: readonly [string, number][]): string {
  const counts = after.map(([le, count], at) => [le, count - (before[at]?.[1] ?? 0)] as const)
  const all = counts.at(-1)?.[1] ?? 0
  return counts.find(([, count]) => count >= 0.99 * all)?.[0] ?? 'none'
}

const rssMiB = () =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)

/** Processor time of all threads of the daemon so far, in seconds. */
function cpuSeconds(): number {
  let ns = 0
  for (const thread of readdirSync(`/proc/${daemon.pid}/task`)) {
    ns += Number(readFileSync(`/proc/${daemon.pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0])
  }
  return ns / 1e9
}

function ask<Answer>(child: ChildProcess, order: LoadOrder | AttackOrder | 'release'): Promise<Answer> {
  const answer = new Promise<Answer>((resolve) => child.once('message', (message) => resolve(message as Answer)))
  child.send(order)
  return answer
}

/** The good caller at a constant rate, and the polls, for one phase. */
async function measure(name: string): Promise<void> {
  const before = await lagBuckets()
  const cpuBefore = cpuSeconds()
  const startedAt = performance.now()
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, rssMiB())
  }, 50)
  const { answered, failed, seconds, p50Ms, p99Ms } = await ask<LoadReport>(loader, {
    port: gatewayPort,
    path: `/ethereum/${GOOD}`,
    kind: 'block',
    connections: 16,
    forMs: PHASE_MS,
    perSecond: Number(pace),
  })
  clearInterval(timer)
  const busy = (cpuSeconds() - cpuBefore) / ((performance.now() - startedAt) / 1000)
  const lag = p99(before, await lagBuckets())
  console.log(
    `${name}: good caller ${(answered / seconds).toFixed(0)}/s, ${failed} failed, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms; ` +
      `polls at most ${lag} s late (p99); ${Math.round(busy * 100)} % of the core, at most ${most} MiB`,
  )
}

async function attackWith(title: string, hold: readonly AttackName[]): Promise<void> {
  attacker.send({ hold, gatewayPort, pagePort, path: `/ethereum/${BAD}` } satisfies AttackOrder)
  await pause(SETTLE_MS)
  await measure(title)
  const { opened, sentMiB, receivedMiB, lateMs } = await ask<AttackReport>(attacker, 'release')
  console.log(
    `  the attack: ${opened} connections, ${sentMiB.toFixed(1)} MiB sent, ${receivedMiB.toFixed(1)} MiB received, at most ${lateMs.toFixed(0)} ms late (p99)`,
  )
  await pause(RELEASE_MS)
}

try {
  // The code that serves the good caller is compiled first.
  await ask<LoadReport>(loader, {
    port: gatewayPort,
    path: `/ethereum/${GOOD}`,
    kind: 'block',
    connections: 16,
    forMs: 3000,
    perSecond: 1000,
  })
  await measure('alone')
  const chosen = names.filter((name) => only.split(',').some((part) => name.includes(part)))
  if (!only.includes(',')) for (const name of chosen) await attackWith(name, [name])
  if (only === '' || only === 'together') await attackWith('all together', names)
  else if (only.includes(',')) await attackWith(chosen.join(', '), chosen)
  await measure('afterwards')
  const { statusCode } = await request(`${page}/-/healthy`, { dispatcher: agent })
  console.log(`the daemon answers ${statusCode} at the end`)
} finally {
  for (const cleanup of cleanups.reverse()) cleanup()
}
process.exit(0)
