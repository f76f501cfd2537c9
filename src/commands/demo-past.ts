import { systemClock } from '../clock.ts'
import type { Config } from '../config/resolve.ts'
import { endpointKey } from '../core/endpoint.ts'
import { createObserver } from '../core/observer/observer.ts'
import type { Log } from '../log.ts'
import { createIncidentRecorder } from '../poll/incident-recorder.ts'
import { maintainedTimes } from '../poll/maintenance-calendar.ts'
import type { PolledNetwork } from '../poll/polled-endpoints.ts'
import { createPoller } from '../poll/poller.ts'
import { createPast } from '../simulator/past.ts'
import { createBoard } from '../state/board.ts'
import { createIncidentLog } from '../state/incident-log.ts'
import { openStore } from '../store/open-store.ts'
import { polledNetworksOf } from '../targets.ts'

/**
 * Fills the demo's new store with 90 days of polls, judged by the code that judges live polls. The daemon that starts on
 * it aggregates them with its overdue jobs.
 */
export async function writeDemoPast(config: Config, log: Log, signal: AbortSignal): Promise<void> {
  const past = createPast(systemClock.now())
  // Timers are real, because the store's thread needs real time.
  const clock = { ...systemClock, now: past.clock.now, monotonic: past.clock.monotonic }
  const store = await openStore({ ...config.store, clock, log, onCommit() {} })
  const board = createBoard()
  let isOver = false
  const nothing = () => {}
  const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const poller = createPoller({
    prober: { poll: (endpoint, _signal, compare) => Promise.resolve(past.poll(endpoint, compare ?? (() => []))) },
    observer: createObserver(),
    checkSelf: nothing,
    board,
    recorder: createIncidentRecorder({ incidents: createIncidentLog(), store, log: silent }),
    // Only the last state is read, by the daemon that starts on this store.
    store: { ...store, saveHealth: (saved) => void (isOver && store.saveHealth(saved)) },
    metrics: { checkFinished: nothing },
    pollSoon: nothing,
    clock,
    log: silent,
  })
  const networks = polledNetworksOf(config)
  const keys = networks.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpointKey(endpoint)))
  let intervalMs = 0
  let rounds = 0
  try {
    for (const stepMs of past.rounds()) {
      if (signal.aborted) return
      const now = clock.now()
      if (stepMs !== intervalMs) {
        intervalMs = stepMs
        poller.configure(
          networks.map((network) => withInterval(network, stepMs)),
          new Set(keys),
        )
        store.register(
          keys.map((endpoint) => ({ endpoint, holdMs: 2 * stepMs })),
          now,
        )
      }
      const periods = past.maintenance.filter(({ from, until: end }) => from <= now && now < end)
      board.putMaintenance(periods)
      if (periods.length > 0) store.maintain(maintainedTimes(periods, board, now), now)
      for (const key of keys) await poller.poll(key, signal)
      // The queue is bounded.
      if (++rounds % ROUNDS_PER_FLUSH === 0) await store.flush()
    }
    isOver = true
    poller.save()
    await store.flush()
  } finally {
    await store.close()
  }
}

const ROUNDS_PER_FLUSH = 200

function withInterval({ network, endpoints }: PolledNetwork, intervalMs: number): PolledNetwork {
  return { network, endpoints: endpoints.map(({ endpoint, at }) => ({ endpoint: { ...endpoint, intervalMs }, at })) }
}
