import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { StoreStatus } from '../store/store.ts'
import { collect } from './collect.ts'
import { createGatewaySeries, type GatewayCounters, type GatewayState } from './gateway-series.ts'
import { type Counters, createOwnSeries } from './own-series.ts'
import { renderProcess } from './process-series.ts'

export interface MetricsDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'open' | 'of'>
  readonly clock: Clock
  readonly version: string
  readonly storeStatus: () => StoreStatus
  readonly scheduler: () => { readonly lastRoundAt: UnixMs | null }
  readonly observer: () => { readonly impaired: boolean }
  /** `null` while there is no gateway. */
  readonly gateway?: () => GatewayState | null
  /** Lets the event loop do something else; resolves soon. */
  readonly yieldToLoop?: () => Promise<unknown>
}

/** One rendering: the text in pieces, so that nobody has to hold it in one. */
export type Exposition = readonly Buffer[]

/** What Heartline tells Prometheus: counted where it happens, the rest read from the board when asked. */
export interface Metrics extends Counters {
  readonly gateway: GatewayCounters
  /** Requests that come while one is being rendered share it. */
  exposition(): Promise<Exposition>
  render(): Promise<string>
}

export function createMetrics({ board, incidents, clock, version, ...deps }: MetricsDeps): Metrics {
  const yieldToLoop = deps.yieldToLoop ?? setImmediate
  const own = createOwnSeries()
  const gateway = createGatewaySeries()
  const startedAt = clock.now()
  let shared: Promise<Exposition> | null = null

  async function collectNow(): Promise<Exposition> {
    const networks = board.networks()
    const ownLines = own.render({
      version,
      nodeVersion: process.version,
      startedAt,
      networks: networks.map(({ standing }) => standing.network.name),
      endpoints: networks.reduce((sum, network) => sum + network.endpoints.length, 0),
      store: deps.storeStatus(),
      schedulerLastRoundAt: deps.scheduler().lastRoundAt,
      observerImpaired: deps.observer().impaired,
    })
    const gatewayLines = gateway.render(deps.gateway?.() ?? null)
    const pieces = await collect({
      networks,
      incidents,
      ownLines: { ...ownLines, ...gatewayLines },
      clock,
      yieldToLoop,
    })
    return [...pieces, Buffer.from(await renderProcess())]
  }

  function exposition(): Promise<Exposition> {
    if (shared !== null) return shared
    const current = collectNow()
    shared = current
    const drop = () => {
      if (shared === current) shared = null
    }
    current.then(drop, drop)
    return current
  }

  return {
    ...own,
    gateway,
    exposition,
    render: async () => Buffer.concat(await exposition()).toString(),
  }
}
