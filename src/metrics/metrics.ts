import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { ClusterReport } from '../core/cluster/report.ts'
import type { UnixMs } from '../core/time.ts'
import type { NotifierStatus } from '../notify/notifier.ts'
import type { Silences } from '../notify/silences.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { StoreStatus } from '../store/store.ts'
import { clusterLines } from './cluster-series.ts'
import { collect, type Exposition } from './collect.ts'
import { createDaemonSeries, type DaemonCounts, type DaemonState } from './daemon-series.ts'
import type { Format } from './exposition-format.ts'
import { createGatewaySeries, type GatewayCounts, type GatewayState } from './gateway-series.ts'
import { notificationLines } from './notification-series.ts'
import { renderProcess } from './process-series.ts'

export function createMetrics({ board, incidents, clock, version, sparse = false, ...deps }: MetricsDeps): Metrics {
  const yieldToLoop = deps.yieldToLoop ?? setImmediate
  const own = createDaemonSeries()
  const gateway = createGatewaySeries()
  const startedAt = clock.now()
  const shared = new Map<Format, Promise<Exposition>>()

  function stateNow(): DaemonState {
    const networks = board.networks()
    return {
      version,
      nodeVersion: process.version,
      startedAt,
      networks: networks.map(({ standing }) => standing.network.name),
      endpoints: networks.reduce((sum, network) => sum + network.endpoints.length, 0),
      store: deps.storeStatus(),
      schedulerLastRoundAt: deps.scheduler().lastRoundAt,
      observer: deps.observer(),
    }
  }

  async function collectNow(format: Format): Promise<Exposition> {
    const networks = board.networks()
    const state = stateNow()
    const ownLines = own.render(state)
    const ofCluster = clusterLines(deps.cluster?.() ?? null, state.store.remote, state.networks)
    const gatewayLines = gateway.render(deps.gateway?.() ?? null)
    const silences = deps.silences?.active().length ?? 0
    const notifications = notificationLines(deps.notifier?.() ?? NO_CHANNELS, silences, clock.now())
    return collect({
      networks,
      incidents,
      ownLines: { ...ownLines, ...gatewayLines, ...notifications, ...ofCluster },
      processText: await renderProcess(format),
      format,
      sparse,
      clock,
      yieldToLoop,
    })
  }

  function exposition(format: Format = 'text'): Promise<Exposition> {
    const underWay = shared.get(format)
    if (underWay !== undefined) return underWay
    const current = collectNow(format)
    shared.set(format, current)
    const drop = () => shared.delete(format)
    current.then(drop, drop)
    return current
  }

  return {
    ...own,
    gateway,
    gatewayCounts: () => gateway.counts(deps.gateway?.() ?? null),
    requests: () => gateway.totals(),
    daemonStatus: () => ({ ...stateNow(), ...own.counts() }),
    exposition,
    async render(format) {
      let text = ''
      for (const block of (await exposition(format)).blocks(64 * 1024)) text += block.toString()
      return text
    },
  }
}

const NO_CHANNELS = { channels: [], waiting: [] }

export interface MetricsDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'open' | 'of'>
  readonly clock: Clock
  readonly version: string
  /** Whether states and conditions that are 0 are left out. */
  readonly sparse?: boolean
  readonly storeStatus: () => StoreStatus
  readonly scheduler: () => { readonly lastRoundAt: UnixMs | null }
  readonly observer: () => DaemonState['observer']
  /** `null` while there is no gateway. */
  readonly gateway?: () => GatewayState | null
  readonly notifier?: () => Pick<NotifierStatus, 'channels' | 'waiting'>
  readonly silences?: Pick<Silences, 'active'>
  /** `null` for a daemon alone. */
  readonly cluster?: () => ClusterReport | null
  readonly yieldToLoop?: () => Promise<unknown>
}

/** All metrics. Events update the counters; a scrape reads everything else from the board. */
export interface Metrics extends Omit<ReturnType<typeof createDaemonSeries>, 'render' | 'counts'> {
  readonly gateway: ReturnType<typeof createGatewaySeries>
  gatewayCounts(): GatewayCounts
  requests(): { readonly requests: number; readonly failed: number }
  daemonStatus(): DaemonState & DaemonCounts
  /** Concurrent requests share one rendering. */
  exposition(format?: Format): Promise<Exposition>
  render(format?: Format): Promise<string>
}
