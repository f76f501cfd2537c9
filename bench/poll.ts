import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { systemClock } from '../dist/modules/src/clock.js'
import { endpointKey } from '../dist/modules/src/core/endpoint.js'
import { locationOf } from '../dist/modules/src/core/host-location.js'
import { createObserver } from '../dist/modules/src/core/observer/observer.js'
import { cpuWaitMs } from '../dist/modules/src/daemon/cpu-wait.js'
import { createMetrics } from '../dist/modules/src/metrics/metrics.js'
import { createProber } from '../dist/modules/src/nodes/probe.js'
import { watchClock } from '../dist/modules/src/poll/clock-watch.js'
import { createIncidentRecorder } from '../dist/modules/src/poll/incident-recorder.js'
import { createPoller } from '../dist/modules/src/poll/poller.js'
import { Secret } from '../dist/modules/src/secret.js'
import { createBoard } from '../dist/modules/src/state/board.js'
import { createIncidentLog } from '../dist/modules/src/state/incident-log.js'
import { openStore } from '../dist/modules/src/store/open-store.js'
import { silentLog } from '../test/support/log.ts'
import { endpoint, network } from '../test/support/network.ts'
import { atPace, cpuSince, flatOut, median, startFleetProcess } from './support.ts'

/**
 * Processor time of one poll (liveness and an 11.8 KB block: asked, read, judged, put on the board, stored, counted), beside
 * a bare undici loop that fetches and parses the same two answers. All threads count. Run with `npx tsx bench/poll.ts`.
 */
const COUNT = 1000
const ROUNDS = 5
const PACED_MS = 5000
const FLAT_OUT = 10_000
const LANES = 32

const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
const fleet = await startFleetProcess({ family: 'avalanche', count: COUNT })
const clock = systemClock

const board = createBoard()
const store = await openStore({
  path: join(folder, 'bench.db'),
  retention: { rawMs: 172_800_000, fiveMinutesMs: 2_592_000_000, hourMs: 63_072_000_000 },
  maxSizeBytes: 10 * 2 ** 30,
  clock,
  log: silentLog,
})
const metrics = createMetrics({
  board,
  incidents: createIncidentLog(),
  clock,
  version: 'bench',
  storeStatus: () => store.status(),
  scheduler: () => ({ lastRoundAt: null }),
  observer: () => ({ impaired: false, judging: true }),
})
const chain = network({ name: 'avalanche', family: 'avalanche', blockTimeMs: 2000 })
const endpoints = fleet.urls.map((_, at) =>
  endpoint(`e${at}`, { network: 'avalanche', family: 'avalanche', checks: ['liveness', 'head'], intervalMs: 1000 }),
)
const prober = createProber({ clock })
prober.retarget(
  endpoints.map((of, at) => ({
    endpoint: of,
    url: new Secret(fleet.urls[at] ?? ''),
    headers: {},
    rpcPath: '/ext/bc/C/rpc',
    kind: 'proxy',
    chainId: null,
    tls: { ca: null, insecure: false },
    timeoutMs: 5000,
  })),
)
const observer = createObserver()
const clockWatch = watchClock({
  clock,
  onJump() {},
  onBlocked: (from, to) => observer.stalled(from, to),
  cpuWaitMs,
  onCpuWait: observer.cpuWaited,
})
const poller = createPoller({
  prober,
  observer,
  checkSelf: () => clockWatch.check(),
  board,
  recorder: createIncidentRecorder({ incidents: createIncidentLog(), store, log: silentLog }),
  store,
  metrics,
  pollSoon() {},
  clock,
  log: silentLog,
})
const polled = endpoints.map((one) => ({ endpoint: one, at: locationOf('127.0.0.1') }))
poller.configure([{ network: chain, endpoints: polled }], new Set())
store.register(
  endpoints.map((of) => ({ endpoint: endpointKey(of), holdMs: 2000 })),
  clock.now(),
)
const keys = endpoints.map(endpointKey)
const { signal } = new AbortController()

const origin = new URL(fleet.urls[0] ?? '').origin
const pool = new Pool(origin, { connections: LANES, pipelining: 1 })
const paths = fleet.urls.map((url) => new URL(url).pathname)

async function bareCall(path: string, method: string, params: string): Promise<unknown> {
  const { body } = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
  })
  return JSON.parse(await body.text())
}

async function bare(turn: number): Promise<void> {
  const path = paths[turn % COUNT] ?? ''
  await bareCall(`${path}/ext/health`, 'health.getLiveness', '{}')
  await bareCall(`${path}/ext/bc/C/rpc`, 'eth_getBlockByNumber', '["latest",false]')
}

const ours = (turn: number) => poller.poll(keys[turn % COUNT] ?? '', signal)

async function perPoll(run: () => Promise<number>): Promise<number> {
  const start = process.cpuUsage()
  const polls = await run()
  // What is queued for the disk is part of the poll.
  await store.flush()
  return cpuSince(start) / polls
}

for (const warm of [bare, ours]) await flatOut(3000, LANES, warm)
const flat = { bare: [] as number[], ours: [] as number[] }
const paced = { bare: [] as number[], ours: [] as number[] }
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, task] of [
    ['bare', bare],
    ['ours', ours],
  ] as const) {
    flat[name].push(await perPoll(() => flatOut(FLAT_OUT, LANES, task).then(() => FLAT_OUT)))
    paced[name].push(await perPoll(() => atPace(1000, PACED_MS, task)))
  }
}

for (const [title, { bare: theirs, ours: mine }] of [
  ['flat out', flat],
  ['1,000 polls a second', paced],
] as const) {
  const ratios = mine.map((us, at) => us / (theirs[at] ?? Number.NaN))
  console.log(
    `${title}: bare ${median(theirs).toFixed(0)} µs, a poll ${median(mine).toFixed(0)} µs, ` +
      `ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  )
}
const up = board.networks()[0]?.endpoints.filter(({ health }) => health.verdict === 'up').length
console.log(
  `endpoints up: ${up} of ${COUNT}; rows written ${store.status().rowsWritten}, dropped ${store.status().rowsDropped}`,
)
prober.close()
await Promise.all([pool.close(), store.close()])
fleet.stop()
rmSync(folder, { recursive: true, force: true })
