import { systemClock } from '../dist/modules/src/clock.js'
import { endpointKey } from '../dist/modules/src/core/endpoint.js'
import { locationOf } from '../dist/modules/src/core/host-location.js'
import { createObserver } from '../dist/modules/src/core/observer/observer.js'
import { createIncidentRecorder } from '../dist/modules/src/poll/incident-recorder.js'
import { createPoller } from '../dist/modules/src/poll/poller.js'
import { createBoard } from '../dist/modules/src/state/board.js'
import { createIncidentLog } from '../dist/modules/src/state/incident-log.js'
import { playFleetOutage } from '../test/support/fleet-outage.ts'
import { silentLog } from '../test/support/log.ts'
import { endpoint, good, head, liveness, network, pollResult } from '../test/support/network.ts'
import { cpuSince, median } from './support.ts'

/**
 * Processor time of one poll from its answer to the board, by the size of the network and by what happens to it: validity,
 * verdict, board and incidents, without I/O and with a simulated clock. Every endpoint has a new block at every second poll.
 * Then the same while 5,000 endpoints fail within one round and recover, by what they share, with what is written and sent.
 * Run with `npx tsx bench/judging.ts`, or `npx tsx bench/judging.ts outages` for the second part alone.
 */
const BATCHES = 9
const BATCH = 10_000
const WARM = 2
const INTERVAL_MS = 1000
const BLOCK_MS = 2000
const STARTED_AT = 1_790_000_000_000

/** What happens to the endpoints of a run: the height and the branch of each, by its number. */
interface Situation {
  readonly title: string
  stands(number: number, tip: number): number
  branch(number: number): string
}

const on = (branch: string) => () => branch
const atTip = (_number: number, tip: number) => tip
const SITUATIONS: readonly Situation[] = [
  { title: 'all healthy', stands: atTip, branch: on('') },
  { title: 'one in ten lags 50 blocks', stands: (number, tip) => (number % 10 === 0 ? tip - 50 : tip), branch: on('') },
  { title: 'one in ten is on another branch', stands: atTip, branch: (number) => (number % 10 === 0 ? 'b' : '') },
  { title: 'half on each of two branches', stands: atTip, branch: (number) => (number % 2 === 0 ? 'b' : '') },
  { title: 'the chain is halted', stands: () => 1000, branch: on('') },
]

async function perPoll(networks: number, each: number, { stands, branch }: Situation): Promise<number> {
  const count = networks * each
  let now = STARTED_AT
  const clock = { ...systemClock, now: () => now, monotonic: () => now - STARTED_AT }
  const endpoints = Array.from({ length: count }, (_, at) =>
    endpoint(`e${at}`, {
      network: `n${Math.floor(at / each)}`,
      checks: ['liveness', 'head'],
      intervalMs: INTERVAL_MS,
    }),
  )
  const numbers = new Map(endpoints.map((one, at) => [one, at]))
  const heads = new Map<string, ReturnType<typeof head>>()
  const headAt = (height: number, on: string) => {
    const known = heads.get(`${on}${height}`)
    if (known !== undefined) return known
    if (heads.size > 1000) heads.clear()
    const fresh = head(height, now, { hash: `0x${on}${height}`, parentHash: `0x${on}${height - 1}` })
    heads.set(`${on}${height}`, fresh)
    return fresh
  }
  const poller = createPoller({
    prober: {
      poll(of, _signal, compare) {
        const number = numbers.get(of) ?? 0
        const tip = 1000 + Math.floor((now - STARTED_AT) / BLOCK_MS)
        const on = branch(number)
        const read = [{ shard: null, outcome: good(headAt(stands(number, tip), on)) }]
        const compared = (compare?.(read) ?? []).map((one) => ({ ...one, hash: `0x${on}${one.height}` }))
        return Promise.resolve(pollResult(of, now, { liveness: good(liveness(now)), heads: read, compared }))
      },
    },
    observer: createObserver(),
    checkSelf() {},
    board: createBoard(),
    recorder: createIncidentRecorder({
      incidents: createIncidentLog(),
      store: { saveIncident() {} },
      log: silentLog,
    }),
    store: { poll() {}, amend() {}, hashChange() {}, saveHealth() {} },
    metrics: { checkFinished() {} },
    pollSoon() {},
    clock,
    log: silentLog,
  })
  const at = locationOf('127.0.0.1')
  const all = Array.from({ length: networks }, (_, index) => ({
    network: network({ name: `n${index}`, blockTimeMs: BLOCK_MS }),
    endpoints: endpoints.slice(index * each, (index + 1) * each).map((one) => ({ endpoint: one, at })),
  }))
  poller.configure(all, new Set())
  const keys = endpoints.map(endpointKey)
  const { signal } = new AbortController()
  const batches: number[] = []
  let turn = 0
  // At least ten rounds: by then every finding is confirmed.
  const batch = Math.max(BATCH, (count * 10) / WARM)
  for (let nth = 0; nth < WARM + BATCHES; nth++) {
    const start = process.cpuUsage()
    for (let polls = 0; polls < batch; polls++) {
      now = STARTED_AT + Math.floor((turn * INTERVAL_MS) / count)
      await poller.poll(keys[turn++ % count] ?? '', signal)
    }
    if (nth >= WARM) batches.push(cpuSince(start) / batch)
  }
  return median(batches)
}

const SIZES = [
  [333, 3],
  [10, 100],
  [1, 1000],
  [1, 10_000],
] as const
for (const situation of process.argv[2] === 'outages' ? [] : SITUATIONS) {
  const figures: string[] = []
  for (const [networks, each] of SIZES)
    figures.push(`${networks} × ${each}: ${(await perPoll(networks, each, situation)).toFixed(1)} µs`)
  console.log(`${situation.title.padEnd(32)} ${figures.join(' · ')}`)
}

const FLEETS = [
  ['one host', 1, null],
  ['one provider, 500 hosts', 500, 'acme'],
  ['500 hosts', 500, null],
  ['5,000 hosts', 5000, null],
] as const
// The first run compiles.
await playFleetOutage({ endpoints: 5000, hosts: 1, provider: null })
for (const [title, hosts, provider] of FLEETS) {
  const { cpuMicros, listed, saves, savedBytes, messages } = await playFleetOutage({ endpoints: 5000, hosts, provider })
  const phases = Object.entries(cpuMicros).map(([phase, micros]) => `${phase} ${micros.toFixed(1)} µs`)
  const written = `${saves} writes, ${(savedBytes / 1e6).toFixed(1)} MB, ${messages.length} messages`
  console.log(`5,000 of ${title.padEnd(24)} ${phases.join(' · ')} · ${listed.length} incidents, ${written}`)
}
