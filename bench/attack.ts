import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { AttackHello, AttackName, AttackOrder, AttackReport } from './attack-process.ts'
import type { LoadOrder, LoadReport } from './load-process.ts'
import { cpuOf, OTHER_CORE, start, startDaemon, waitFor } from './support.ts'

/**
 * Every way to hold or use up what callers share, each alone and then all at once, against the built daemon. Reports what another
 * caller at a constant rate and the polls notice. The daemon has a core of its own; attack, load and nodes run at constant rates on
 * the other, and report how late they are themselves.
 *
 * `npx tsx bench/attack.ts [seconds a phase] [requests a second] [attacks]`, where `attacks` is a part of their names, several parts
 * with commas between them for these at once, or `together`, which is all but the flood at once and then all.
 */
const [, , seconds = '6', pace = '200', only = ''] = process.argv
const PHASE_MS = Number(seconds) * 1000
const GOOD = 'good-caller-0123456789'
const BAD = 'bad-caller-0123456789a'
const POLLED = 200
const FLOOD: AttackName = 'requests without a pause'
/** Until everything is open and its first requests are answered. */
const SETTLE_MS = 8000
/** Until what was released is gone. */
const RELEASE_MS = 2000
const TLS_FILE = (name: string) => fileURLToPath(new URL(`../test/config/tls/${name}`, import.meta.url))

const agent = new Agent({ connect: { rejectUnauthorized: false } })
const node = await start(OTHER_CORE, 'node-process.ts')
const { port: nodePort } = node.hello as { port: number }
// Its long answers must not delay those to the good caller.
const large = await start(OTHER_CORE, 'node-process.ts')
const { port: largePort } = large.hello as { port: number }
const fleet = await start(OTHER_CORE, 'fleet-process.ts', [JSON.stringify({ family: 'ethereum', count: POLLED })])
const { child: loader } = await start(OTHER_CORE, 'load-process.ts')
const attack = await start(OTHER_CORE, 'attack-process.ts')
const { child: attacker } = attack
const { names, nodes } = attack.hello as AttackHello
const endpointsOf = (urls: readonly string[], letter: string) =>
  urls.map((url, at) => ({ name: `${letter}${at}`, url }))
const polledEachSecond = { family: 'ethereum', poll: { interval: '1s' } }
const daemon = await startDaemon(
  {
    server: { listen: '127.0.0.1:0', tls: { cert: TLS_FILE('a.crt'), key: TLS_FILE('a.key') } },
    networks: [
      { name: 'ethereum', family: 'ethereum', endpoints: endpointsOf([`http://127.0.0.1:${nodePort}`], 'n') },
      { name: 'large', family: 'ethereum', endpoints: endpointsOf([`http://127.0.0.1:${largePort}`], 'l') },
      { name: 'fleet', ...polledEachSecond, endpoints: endpointsOf((fleet.hello as { urls: string[] }).urls, 'e') },
      { name: 'hostile', ...polledEachSecond, endpoints: endpointsOf(nodes, 'h') },
    ],
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      callers: [
        { name: 'good', endpoint_id: GOOD },
        { name: 'bad', endpoint_id: BAD, methods: ['eth_newFilter', 'eth_getLogs'] },
      ],
    },
  },
  process.env.DAEMON_FLAGS?.split(' '),
)
const { page, gatewayPort } = daemon
const pagePort = Number(new URL(page).port)
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
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

function ask<Answer>(child: ChildProcess, order: LoadOrder | AttackOrder | 'release'): Promise<Answer> {
  const answer = new Promise<Answer>((resolve) => child.once('message', (message) => resolve(message as Answer)))
  child.send(order)
  return answer
}

/** The good caller at a constant rate, and the polls, for one phase. */
async function measure(name: string): Promise<void> {
  const before = await lagBuckets()
  const cpuBefore = cpuOf(daemon.pid)
  const startedAt = performance.now()
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, rssMiB())
  }, 50)
  const { answered, failed, seconds, ...times } = await ask<LoadReport>(loader, {
    port: gatewayPort,
    path: `/ethereum/${GOOD}`,
    kind: 'block',
    connections: 16,
    forMs: PHASE_MS,
    perSecond: Number(pace),
    pid: daemon.pid,
  })
  clearInterval(timer)
  const busy = (cpuOf(daemon.pid) - cpuBefore) / 1000 / (performance.now() - startedAt)
  const lag = p99(before, await lagBuckets())
  console.log(
    `${name}: good caller ${(answered / seconds).toFixed(0)}/s, ${failed} failed, p50 ${shown(times.p50Ms)}, p99 ${shown(times.p99Ms)}; ` +
      `of the daemon's processor time p50 ${shown(times.p50CpuMs)}, p99 ${shown(times.p99CpuMs)}; ` +
      `polls at most ${lag} s late (p99); ${Math.round(busy * 100)} % of the core, at most ${most} MiB`,
  )
}

/** `null` where nothing was answered. */
function shown(ms: number | null): string {
  return ms === null ? 'none' : `${ms.toFixed(1)} ms`
}

async function attackWith(title: string, hold: readonly AttackName[]): Promise<void> {
  attacker.send({ hold, gatewayPort, pagePort, caller: BAD } satisfies AttackOrder)
  await pause(SETTLE_MS)
  await measure(title)
  // Connections are accepted one by one: those of the good caller wait behind those of the attacks at first.
  if (hold.length > 1) await measure(`${title}, later`)
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
  if (only === '' || only === 'together') {
    await attackWith(
      'all that hold connections open',
      names.filter((name) => name !== FLOOD),
    )
    await attackWith('all together', names)
  } else if (only.includes(',')) await attackWith(chosen.join(', '), chosen)
  await measure('afterwards')
  const { statusCode } = await request(`${page}/-/healthy`, { dispatcher: agent })
  console.log(`the daemon answers ${statusCode} at the end`)
} finally {
  daemon.stop()
  for (const { child } of [node, large, fleet, attack]) child.disconnect()
  loader.disconnect()
}
process.exit(0)
