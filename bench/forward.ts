import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadOrder, LoadReport } from './load-process.ts'
import { cpuOf, MEASURED_CORE, median, OTHER_CORE, start, startDaemon, startFleetProcess, waitFor } from './support.ts'

/**
 * What the gateway costs: processor time of one forwarded and of one cached request, beside relays that check nothing; the latency that
 * it adds at a constant rate; what its load does to the polls, and what polls do to its load. What is measured is on one core, load and
 * nodes on the other.
 *
 * `npx tsx bench/forward.ts [cpu|peers|latency|polls] [seconds a run] [rounds]`; `peers` is `cpu` with @fastify/reply-from and nginx
 */
const [, , only = 'all', seconds = '4', rounds = '5'] = process.argv
const FOR_MS = Number(seconds) * 1000
const ROUNDS = Number(rounds)
const ID = 'wallet-0123456789abcdef'
const CONNECTIONS = 32
/** A load that all of them can bear: there what each costs does not depend on how fast it is. */
const PACE = 3000

const cleanups: (() => void)[] = []

interface Measured {
  readonly name: string
  readonly pid: number
  readonly port: number
  readonly path: string
}

/** Like `start`, and ends the program at the end. */
async function started(core: number, file: string, args: readonly string[] = []) {
  const { child, hello } = await start(core, file, args)
  cleanups.push(() => child.disconnect())
  return { child, port: (hello as { port: number }).port }
}

const { port: nodePort } = await started(OTHER_CORE, 'node-process.ts')
const { child: loader } = await started(OTHER_CORE, 'load-process.ts')
const origin = `http://127.0.0.1:${nodePort}`

function load(
  { port, path }: Pick<Measured, 'port' | 'path'>,
  over: Partial<LoadOrder> & Pick<LoadOrder, 'kind'>,
): Promise<LoadReport> {
  const order: LoadOrder = { port, path, connections: CONNECTIONS, forMs: FOR_MS, perSecond: null, ...over }
  loader.send(order)
  return new Promise((resolve) => loader.once('message', (report) => resolve(report as LoadReport)))
}

async function relay(kind: 'bare' | 'plain' | 'reply-from', name: string): Promise<Measured> {
  const { child, port } = await started(MEASURED_CORE, 'relay-process.ts', [kind, origin])
  const { pid = 0 } = child
  return { name, pid, port, path: '/' }
}

/** The built daemon; `others` are endpoints of another network, polled each second while the gateway works. */
async function gateway(
  others: readonly string[] = [],
  interval = '15s',
): Promise<Measured & { readonly page: string }> {
  const endpoints = others.map((url, at) => ({ name: `e${at}`, url }))
  const { pid, page, gatewayPort, stop } = await startDaemon(
    {
      server: { listen: '127.0.0.1:0' },
      networks: [
        { name: 'ethereum', family: 'ethereum', endpoints: [{ name: 'node', url: origin }] },
        ...(others.length === 0 ? [] : [{ name: 'others', family: 'ethereum', poll: { interval }, endpoints }]),
      ],
      gateway: { enabled: true, listen: '127.0.0.1:0', callers: [{ name: 'wallet', endpoint_id: ID }] },
    },
    process.env.DAEMON_FLAGS?.split(' '),
  )
  cleanups.push(stop)
  await waitFor(async () => ((await fetch(`${page}/-/ready`)).status === 200 ? true : undefined))
  return { name: 'Heartline', pid, port: gatewayPort, path: `/ethereum/${ID}`, page }
}

/** One worker process, and no logs: as little as it can do. `null` where it is not installed. */
async function nginx(): Promise<Measured | null> {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
  } catch {
    console.log('nginx is not installed, and so not measured: apt-get install nginx-light')
    return null
  }
  const folder = mkdtempSync(join(tmpdir(), 'heartline-nginx-'))
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const http = `access_log off; keepalive_requests 1000000; ${temporary.join(' ')}
    upstream node { server 127.0.0.1:${nodePort}; keepalive 128; keepalive_requests 1000000; }
    server { listen 127.0.0.1:${port}; location / { proxy_pass http://node/; proxy_http_version 1.1; proxy_set_header Connection ""; } }`
  const file = join(folder, 'nginx.conf')
  const main = `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;`
  writeFileSync(file, `${main} events { worker_connections 2048; } http { ${http} }`)
  const child = spawn('taskset', ['-c', `${MEASURED_CORE}`, 'nginx', '-c', file, '-p', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  cleanups.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => child.kill(),
  )
  await waitFor(() => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"id":1}' }).catch(() => undefined))
  return { name: 'nginx proxy_pass', pid: child.pid ?? 0, port, path: '/' }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

interface Run {
  readonly cpuUs: number
  readonly perSecond: number
}

async function run(measured: Measured, kind: LoadOrder['kind'], perSecond: number | null = null): Promise<Run> {
  const before = cpuOf(measured.pid)
  const { answered, failed, seconds: took } = await load(measured, { kind, perSecond })
  if (failed > 0) throw new Error(`${measured.name}: ${failed} of ${answered} failed`)
  return { cpuUs: (cpuOf(measured.pid) - before) / answered, perSecond: answered / took }
}

async function benchCpu(): Promise<void> {
  const ours = await gateway()
  const bare = await relay('bare', 'bare node:http + undici')
  const plain = await relay('plain', 'plain node:http + undici')
  const others = only === 'peers' ? [await relay('reply-from', '@fastify/reply-from'), await nginx()] : []
  const all = [ours, plain, bare, ...others].filter((one) => one !== null)
  for (const measured of all) for (const kind of ['transaction', 'block'] as const) await run(measured, kind)
  await run(ours, 'cached')
  for (const [kind, title] of [
    ['transaction', 'a transaction, 363 bytes'],
    ['block', 'a block, 11.8 KB'],
  ] as const) {
    for (const pace of [PACE, null]) {
      const runs = new Map<string, Run[]>(all.map(({ name }) => [name, []]))
      if (kind === 'block') runs.set('Heartline, cached', [])
      for (let round = 0; round < ROUNDS; round++) {
        // In alternating order, so that no candidate always runs after the same one and its garbage.
        for (const measured of round % 2 === 0 ? all : all.toReversed()) {
          runs.get(measured.name)?.push(await run(measured, kind, pace))
        }
        if (kind === 'block') runs.get('Heartline, cached')?.push(await run(ours, 'cached', pace))
      }
      const bares = runs.get(bare.name) ?? []
      const plains = runs.get(plain.name) ?? []
      const how = pace === null ? 'flat out' : `${pace} requests a second`
      console.log(`\n${title}, ${how}: median of ${ROUNDS} rounds of ${FOR_MS / 1000} s`)
      for (const [name, of] of runs) {
        const ratiosTo = (peers: readonly Run[]) =>
          of.map(({ cpuUs }, round) => cpuUs / (peers[round]?.cpuUs ?? Number.NaN))
        const ratios = (peers: readonly Run[]) =>
          `${median(ratiosTo(peers)).toFixed(2)} (${Math.min(...ratiosTo(peers)).toFixed(2)} to ${Math.max(...ratiosTo(peers)).toFixed(2)})`
        console.log(
          `${name.padEnd(26)} ${median(of.map(({ cpuUs }) => cpuUs)).toFixed(1)} µs a request, ` +
            `${ratios(plains)} of plain, ${ratios(bares)} of bare` +
            (pace === null ? `, ${median(of.map(({ perSecond }) => perSecond)).toFixed(0)}/s on one core` : ''),
        )
      }
    }
  }
}

async function benchLatency(): Promise<void> {
  const ours = await gateway()
  for (const kind of ['transaction', 'block', 'cached'] as const) {
    await run(ours, kind)
    const perSecond = Math.floor((await run(ours, kind)).perSecond / 2)
    const through: LoadReport[] = []
    const directly: LoadReport[] = []
    for (let round = 0; round < ROUNDS; round++) {
      directly.push(await load({ port: nodePort, path: '/' }, { kind, perSecond, connections: 128 }))
      through.push(await load(ours, { kind, perSecond, connections: 128 }))
    }
    const of = (reports: LoadReport[], which: 'p50Ms' | 'p99Ms' | 'maxMs') => median(reports.map((one) => one[which]))
    const line = (which: 'p50Ms' | 'p99Ms' | 'maxMs') =>
      `${which.slice(0, -2)} ${of(through, which).toFixed(2)} ms (${of(directly, which).toFixed(2)} without, ` +
      `added ${(of(through, which) - of(directly, which)).toFixed(2)})`
    console.log(`latency of a ${kind} at ${perSecond}/s: ${line('p50Ms')}, ${line('p99Ms')}, ${line('maxMs')}`)
  }
}

/** The border of the bucket that holds 99 % of the polls since `before`. */
function lagP99(before: string, after: string): string {
  const buckets = (text: string) =>
    [...text.matchAll(/heartline_scheduler_lag_seconds_bucket\{le="([^"]+)"\} (\d+)/g)].map(
      ([, border, count]) => [border ?? '', Number(count)] as const,
    )
  const then = new Map(buckets(before))
  const grown = buckets(after).map(([border, count]) => [border, count - (then.get(border) ?? 0)] as const)
  const total = grown.at(-1)?.[1] ?? 0
  return `${grown.find(([, count]) => count >= total * 0.99)?.[0]} s of ${total} polls`
}

async function benchPolls(): Promise<void> {
  const fleet = await startFleetProcess({ family: 'ethereum', count: 1000, origins: 10 })
  cleanups.push(() => fleet.stop())
  const metrics = async (page: string) => (await fetch(`${page}/metrics`)).text()
  const alone = await gateway()
  const usual = await gateway(fleet.urls, '15s')
  const busy = await gateway(fleet.urls, '1s')
  for (const measured of [alone, usual, busy]) await run(measured, 'transaction')
  const rates = new Map<Measured, number[]>([
    [alone, []],
    [usual, []],
    [busy, []],
  ])
  const before = new Map([
    [usual, await metrics(usual.page)],
    [busy, await metrics(busy.page)],
  ])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [measured, of] of rates) {
      // The others would share its core.
      for (const { pid } of rates.keys()) process.kill(pid, pid === measured.pid ? 'SIGCONT' : 'SIGSTOP')
      if (measured !== alone) {
        // Until every poll that was due while it was stopped has been made, and the next are on time.
        await new Promise((resolve) => setTimeout(resolve, measured === usual ? 17_000 : 3000))
        before.set(measured as typeof usual, await metrics((measured as typeof usual).page))
      }
      of.push((await run(measured, 'transaction')).perSecond)
      if (measured === alone) continue
      const { page } = measured as typeof usual
      const lag = lagP99(before.get(measured as typeof usual) ?? '', await metrics(page))
      console.log(
        `1,000 endpoints each ${measured === busy ? '1 s' : '15 s'}, gateway at full load: p99 of scheduler lag ≤ ${lag}`,
      )
    }
  }
  for (const { pid } of rates.keys()) process.kill(pid, 'SIGCONT')
  const rate = (of: Measured) => median(rates.get(of) ?? [])
  for (const [measured, title] of [
    [alone, 'one endpoint'],
    [usual, '1,000 more, each 15 s'],
    [busy, '1,000 more, each second'],
  ] as const) {
    const share = (1 - rate(measured) / rate(alone)) * 100
    console.log(`gateway over ${title}: ${rate(measured).toFixed(0)}/s on one core, ${share.toFixed(1)} % less`)
  }
}

try {
  if (only === 'all' || only === 'cpu' || only === 'peers') await benchCpu()
  if (only === 'all' || only === 'latency') await benchLatency()
  if (only === 'all' || only === 'polls') await benchPolls()
} finally {
  for (const cleanup of cleanups.reverse()) cleanup()
}
