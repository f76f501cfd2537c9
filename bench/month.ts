import type { Clock } from '../src/clock.ts'
import { type EndpointKey, endpointKey } from '../src/core/endpoint.ts'
import type { Failure } from '../src/core/failure.ts'
import { locationOf } from '../src/core/host-location.ts'
import { createObserver } from '../src/core/observer/observer.ts'
import type { PollResult } from '../src/core/poll-result.ts'
import { createIncidentRecorder } from '../src/poll/incident-recorder.ts'
import { createPoller } from '../src/poll/poller.ts'
import { createBoard } from '../src/state/board.ts'
import { createIncidentLog } from '../src/state/incident-log.ts'
import { silentLog } from '../test/support/log.ts'
import { bad, endpoint, good, network, pollResult, THRESHOLDS } from '../test/support/network.ts'
import { createEvents } from './events.ts'

/**
 * A month of ten networks with ten endpoints each, polled every 15 s, as the real poller, observer and incident book judge it.
 * The noise, which must not be held against any node: answers that take from 20 ms to 1.9 s, pools that are a block or two behind, newest
 * blocks that lose, single polls that fail, and own outages, in which everybody fails. The control, which must be found: outages of
 * single endpoints, of one to ten minutes.
 */
export interface Month {
  readonly polls: number
  readonly failedPolls: number
  readonly ownOutages: number
  readonly outages: number
  /** Real outages that were not said. */
  readonly missed: number
  /** Endpoints called degraded or down though well, incidents of such, halts and forks that were none. */
  readonly falseAccusations: number
  /** Polls from the first in the outage to the one that made it known. */
  readonly delays: readonly number[]
}

const INTERVAL_MS = 15_000
const TIMEOUT_MS = 5000
const MINUTE_MS = 60_000
const BLOCK_TIMES_MS = [400, 2000, 2000, 3000, 6000, 12_000, 12_000, 12_000, 30_000, 60_000]
const ENDPOINTS = 10
const FAILED_POLL = 0.002
const LOSING_BLOCK = 0.002
const OUTAGES_PER_ENDPOINT = 4
const OWN_OUTAGES = 12

const FAILURES: readonly Failure[] = [
  { kind: 'timeout', afterMs: TIMEOUT_MS },
  { kind: 'reset' },
  { kind: 'refused' },
  { kind: 'dns', code: 'EAI_AGAIN' },
  { kind: 'http', status: 503 },
  { kind: 'not-json' },
  { kind: 'rate-limited', retryAfterMs: null },
]

interface Outage {
  readonly of: Simulated
  readonly from: number
  until: number
  readonly failure: Failure | null
  readonly behind: number
  /** Polls that began in it. */
  polls: number
  foundAfter: number | null
}

interface Simulated {
  readonly key: EndpointKey
  readonly blockTimeMs: number
  readonly isPool: boolean
  startedAt: number
  running: boolean
  extraAt: number | null
  failedLast: boolean
  lostLast: boolean
  outage: Outage | null
  /** It was called ill rightly, and not yet well again. */
  excused: boolean
  verdict: string
}

export async function simulateMonth(days: number, random: () => number): Promise<Month> {
  const endsAt = days * 24 * 60 * MINUTE_MS
  const begun = Date.UTC(2026, 10, 1)
  let time = 0
  const clock: Clock = {
    now: () => begun + time,
    monotonic: () => time,
    after: () => ({ cancel() {} }),
    sleep: () => Promise.resolve(),
  }
  const events = createEvents()
  const board = createBoard()
  const incidents = createIncidentLog()
  const all = new Map<EndpointKey, Simulated>()
  const outages: Outage[] = []
  let [polls, failedPolls, falseAccusations] = [0, 0, 0]
  let ownOutage: Failure | null = null

  const nothing = () => {}
  const poller = createPoller({
    prober: {
      poll: (of, _signal, compare) =>
        new Promise((resolve) => {
          const node = all.get(endpointKey(of)) as Simulated
          const failure = failureOf(node)
          const takesMs = failure?.kind === 'timeout' ? TIMEOUT_MS : latencyMs()
          const startedAt = clock.now()
          const told = headOf(node, time + takesMs / 2)
          events.push(time + takesMs, () => {
            const heads = [
              { shard: null, outcome: failure === null ? good(told.head, takesMs) : bad(failure, takesMs) },
            ]
            const compared = (compare?.(heads) ?? []).map((asked) => ({ ...asked, hash: `0x${asked.height}` }))
            const result: PollResult = pollResult(of, startedAt, { finishedAt: clock.now(), heads, compared })
            resolve(result)
            return true
          })
        }),
    },
    observer: createObserver(),
    checkSelf: nothing,
    board,
    recorder: createIncidentRecorder({ incidents, store: { saveIncident: nothing }, log: silentLog }),
    store: { poll: nothing, amend: nothing, hashChange: nothing, saveHealth: nothing },
    metrics: { checkFinished: nothing },
    pollSoon(key) {
      const node = all.get(key)
      if (node === undefined || node.extraAt !== null) return
      const at = Math.max(time, node.startedAt + INTERVAL_MS / 4)
      node.extraAt = at
      events.push(at, () => {
        if (node.extraAt === at) begin(node)
        return false
      })
    },
    clock,
    log: { ...silentLog, error: (fields, message) => console.error(message, fields) },
  })

  function begin(node: Simulated): void {
    if (node.running) return
    node.running = true
    node.extraAt = null
    node.startedAt = time
    polls++
    if (node.outage !== null) node.outage.polls++
    void poller.poll(node.key, signal).then(() => {
      node.running = false
    })
  }

  function failureOf(node: Simulated): Failure | null {
    if (ownOutage !== null) return ownOutage
    if (node.outage !== null) return node.outage.failure
    // Two in a row would be no single failures any more.
    node.failedLast = !node.failedLast && random() < FAILED_POLL
    if (!node.failedLast) return null
    failedPolls++
    return FAILURES[Math.floor(random() * FAILURES.length)] ?? null
  }

  function headOf(node: Simulated, at: number) {
    const jitter = node.isPool && random() < 0.3 ? 1 + Number(random() < 0.3) : 0
    const height = 1000 + Math.floor(at / node.blockTimeMs) - (node.outage?.behind ?? jitter)
    // Told twice it would be a fork.
    node.lostLast = !node.lostLast && node.outage === null && jitter === 0 && random() < LOSING_BLOCK
    const hash = node.lostLast ? `0xlost${height}` : `0x${height}`
    return {
      head: { height, hash, parentHash: `0x${height - 1}`, timestamp: begun + (height - 1000) * node.blockTimeMs },
    }
  }

  function latencyMs(): number {
    return random() < 0.005 ? 200 + random() * 1700 : 20 - 60 * Math.log(1 - random() * 0.95)
  }

  board.subscribe(({ network: of, endpoint: name, verdictChanged }) => {
    if (name === null) {
      const standing = board.network(of)?.standing
      if ((standing?.haltedShards.length ?? 0) > 0 || standing?.forked === true) falseAccusations++
      return
    }
    if (!verdictChanged) return
    const node = all.get(endpointKey({ network: of, name })) as Simulated
    const verdict = board.entry(of, name)?.health.verdict ?? 'up'
    if (verdict === 'up') node.excused = node.outage !== null
    else if (!node.excused && verdict !== node.verdict) {
      falseAccusations++
      const why = board.entry(of, name)?.health.conditions.map(({ message }) => message) ?? []
      console.error(`${node.key} was called ${verdict} after ${Math.round(time / 1000)} s: ${why.join('; ')}`)
    } else if (node.outage !== null) node.outage.foundAfter ??= node.outage.polls
    node.verdict = verdict
  })

  const { signal } = new AbortController()
  let placed = 0
  poller.configure(
    BLOCK_TIMES_MS.map((blockTimeMs, at) => {
      const name = `network-${at}`
      const stallMs = Math.max(THRESHOLDS.stallMs, 5 * blockTimeMs)
      const endpoints = Array.from({ length: ENDPOINTS }, (_, number) => {
        const one = endpoint(`e${number}`, { network: name, intervalMs: INTERVAL_MS })
        const key = endpointKey(one)
        const node: Simulated = {
          key,
          blockTimeMs,
          isPool: number % 3 === 0,
          startedAt: Number.NEGATIVE_INFINITY,
          running: false,
          extraAt: null,
          failedLast: false,
          lostLast: false,
          outage: null,
          excused: false,
          verdict: 'up',
        }
        all.set(key, node)
        const turn = () => {
          begin(node)
          if (time + INTERVAL_MS < endsAt) events.push(time + INTERVAL_MS, turn)
          return false
        }
        events.push(((placed++ * 0.618_033_988_749_895) % 1) * INTERVAL_MS, turn)
        // Providers serve several networks from one host; own nodes have one each.
        const host = number < ENDPOINTS / 2 ? `provider-${number}.example.org` : `node-${number}.${name}.example.org`
        return { endpoint: one, at: locationOf(host) }
      })
      return { network: network({ name, blockTimeMs, thresholds: { ...THRESHOLDS, stallMs } }), endpoints }
    }),
    new Set(),
  )

  const nodes = [...all.values()]
  for (let at = 0; at < Math.round((OUTAGES_PER_ENDPOINT * nodes.length * days) / 30); at++) {
    const node = nodes[Math.floor(random() * nodes.length)]
    if (node === undefined) continue
    const from = 10 * MINUTE_MS + random() * (endsAt - 40 * MINUTE_MS)
    const lastsMs = MINUTE_MS + random() * 9 * MINUTE_MS
    events.push(from, () => {
      const neighbours = nodes.filter(({ key }) => key.split('/')[0] === node.key.split('/')[0])
      // One at a time in a network, and none in an outage of ours: else the truth would be of another kind.
      if (ownOutage !== null || neighbours.some(({ outage, excused }) => outage !== null || excused)) return false
      const isLate = random() < 0.3
      const failure = isLate ? null : (FAILURES[Math.floor(random() * FAILURES.length)] ?? null)
      const behind = isLate ? Math.max(5, Math.ceil((2 * MINUTE_MS) / node.blockTimeMs)) : 0
      const outage: Outage = { of: node, from, until: from + lastsMs, failure, behind, polls: 0, foundAfter: null }
      outages.push(outage)
      node.outage = outage
      node.excused = true
      events.push(from + lastsMs, () => {
        node.outage = null
        return false
      })
      return false
    })
  }
  let ownOutages = 0
  for (let at = 0; at < OWN_OUTAGES; at++) {
    const from = 10 * MINUTE_MS + random() * (endsAt - 40 * MINUTE_MS)
    const lastsMs = 30_000 + random() * 10 * MINUTE_MS
    events.push(from, () => {
      if (ownOutage !== null || nodes.some(({ outage, excused }) => outage !== null || excused)) return false
      ownOutages++
      ownOutage = FAILURES[at % 2 === 0 ? 0 : 3] ?? null
      events.push(from + lastsMs, () => {
        ownOutage = null
        return false
      })
      return false
    })
  }

  for (let next = events.pop(); next !== undefined; next = events.pop()) {
    time = next.at
    // What ends a poll settles promises, which take some turns.
    if (next.run()) for (let turn = 0; turn < 4; turn++) await Promise.resolve()
  }

  const found = outages.filter(({ foundAfter }) => foundAfter !== null)
  return {
    polls,
    failedPolls,
    ownOutages,
    outages: outages.length,
    missed: outages.length - found.length,
    falseAccusations,
    delays: found.map(({ foundAfter }) => foundAfter as number),
  }
}
