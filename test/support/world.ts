import type { Clock } from '../../src/clock.ts'
import { type Endpoint, type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import { locationOf } from '../../src/core/host-location.ts'
import type { Network } from '../../src/core/network.ts'
import { createObserver } from '../../src/core/observer/observer.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import { createIncidentRecorder } from '../../src/poll/incident-recorder.ts'
import type { PolledNetwork } from '../../src/poll/polled-endpoints.ts'
import { createPoller, type PollerDeps } from '../../src/poll/poller.ts'
import { type BoardEntry, type CheckTally, createBoard, type WritableBoard } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { createSightings, type Sightings } from '../../src/state/sightings.ts'
import type { HistoryBucket, StoreStatus } from '../../src/store/store.ts'
import { good, head, liveness, pollResult } from './network.ts'

export interface World {
  readonly board: WritableBoard
  readonly sightings: Sightings
  /** The endpoint is polled, and answers so; by default it is well, at height 1000. */
  poll(endpoint: Endpoint, over?: Partial<PollResult>): Promise<void>
  pollAll(over?: Partial<PollResult>): Promise<void>
  configure(networks: readonly WorldNetwork[]): void
  /** What follows a change of the wall clock. */
  shift(ms: number): void
}

export interface WorldNetwork {
  readonly network: Network
  readonly endpoints: readonly Endpoint[]
}

const polledOf = (networks: readonly WorldNetwork[]): PolledNetwork[] =>
  networks.map(({ network, endpoints }) => ({
    network,
    endpoints: endpoints.map((endpoint) => ({ endpoint, at: locationOf('127.0.0.1') })),
  }))

/** A board that the real poller fills from answers given by hand. */
export function createWorld(
  clock: Clock,
  networks: readonly WorldNetwork[],
  deps: Pick<PollerDeps, 'onChainEvent'> & Partial<Pick<PollerDeps, 'prober'>> = {},
): World {
  const board = createBoard()
  const sightings = createSightings()
  let answer: ((endpoint: Endpoint) => PollResult) | null = null
  const nothing = () => {}
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const poller = createPoller({
    prober: { poll: async (endpoint) => (answer ?? well)(endpoint) },
    observer: createObserver(),
    checkSelf: nothing,
    board,
    recorder: createIncidentRecorder({ incidents: createIncidentLog(), store: { saveIncident: nothing }, log }),
    store: { poll: nothing, amend: nothing, hashChange: nothing, saveHealth: nothing },
    pollSoon: nothing,
    metrics: { checkFinished: nothing },
    onJudged: (result) => sightings.take(result),
    ...deps,
    clock,
    log,
  })

  function well(endpoint: Endpoint): PollResult {
    const now = clock.now()
    return pollResult(endpoint, now, {
      liveness: endpoint.checks.includes('liveness') ? good(liveness(now - 2000)) : null,
      heads: endpoint.checks.includes('head')
        ? endpoint.shards.map((shard) => ({ shard, outcome: good(head(1000, now - 3000)) }))
        : [],
    })
  }

  const keys = () => new Set(board.networks().flatMap(({ endpoints }) => endpoints.map(({ key }) => key)))
  configure(networks, new Set())

  function configure(next: readonly WorldNetwork[], kept: ReadonlySet<EndpointKey>): void {
    const endpoints = next.flatMap((of) => of.endpoints)
    sightings.retain(endpoints.map((endpoint) => ({ key: endpointKey(endpoint), shards: endpoint.shards })))
    poller.configure(polledOf(next), kept)
  }

  async function poll(endpoint: Endpoint, over: Partial<PollResult> = {}): Promise<void> {
    answer = (asked) => ({ ...well(asked), ...over })
    await poller.poll(endpointKey(endpoint), new AbortController().signal)
  }

  return {
    board,
    sightings,
    poll,
    async pollAll(over) {
      for (const { endpoints } of board.networks()) {
        for (const { health } of endpoints) await poll(health.endpoint, over)
      }
    },
    configure: (next) => configure(next, keys()),
    shift: (ms) => poller.shift(ms),
  }
}

export const QUIET_STORE: StoreStatus = {
  trouble: null,
  rowsWritten: 0,
  rowsDropped: 0,
  writeFailures: new Map(),
  queueRows: 0,
  databaseBytes: null,
  filesystemFreeBytes: null,
  integrityOk: true,
  threadRestarts: 0,
  remote: null,
}

/** The counters of an endpoint's head check. */
export function headCounts(entry: BoardEntry | undefined): CheckTally | undefined {
  return entry?.tally.checks.find(({ check }) => check === 'head')
}

/** What the store measured of an endpoint; its times are 0. */
export function historyBucket(over: Partial<HistoryBucket>): HistoryBucket {
  const times = { start: 0, upMs: 0, degradedMs: 0, downMs: 0, maintenanceMs: 0, unknownMs: 0 }
  const latencies = { latencyP50Ms: 10, latencyP95Ms: 20, latencyMaxMs: 30 }
  const rest = { polls: 60, height: 1000, lagBlocksMax: 0, heartbeatLagMaxMs: null, contiguousFailuresMax: null }
  return { ...times, ...latencies, ...rest, ...over }
}
