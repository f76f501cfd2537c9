import type { Clock, Timer } from './clock.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config/config.ts'
import { endpointKey } from './core/endpoint.ts'
import { createObserver } from './core/observer/observer.ts'
import { locationOf } from './core/observer/own-network.ts'
import { createGatewayService, type GatewayService, type GatewaySetup } from './gateway/service.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import type { Logger } from './log.ts'
import type { GatewayState } from './metrics/gateway-series.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createMinuteStats } from './metrics/minute-stats.ts'
import { createProber } from './nodes/probe.ts'
import { createHousekeeping } from './poll/housekeeping.ts'
import { earlierIncidents } from './poll/incident-recorder.ts'
import { createInspector } from './poll/inspector.ts'
import { createMaintenanceCalendar } from './poll/maintenance-calendar.ts'
import { endpointsIn, maintainedTimes } from './poll/maintenance-plan.ts'
import { createPoller } from './poll/poller.ts'
import { createScheduler, type ScheduledItem } from './poll/scheduler.ts'
import { watchSelf } from './poll/self-watch.ts'
import { type Board, createBoard } from './state/board.ts'
import { createIncidentLog } from './state/incident-log.ts'
import { createJournal } from './state/journal.ts'
import { createSightings } from './state/sightings.ts'
import { openStore } from './store/open-store.ts'
import { targetsOf } from './targets.ts'
import { version } from './version.ts'

/** Availability changes slowly, and working it out reads much; only at the start it is wanted sooner. */
const AVAILABILITY_EVERY_MS = 60_000
const AVAILABILITY_FIRST_MS = 2000
const OWN_LOOK_EVERY_MS = 1000

export interface DaemonDeps {
  readonly config: Config
  readonly log: Logger
  /** Tests drive time through it. */
  readonly clock?: Clock
}

/** An address of the configuration cannot be had. */
export class ListenError extends Error {
  /** The key that names it. */
  readonly key: 'server.listen' | 'gateway.listen'
  readonly code: string

  constructor(key: ListenError['key'], cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    super(`${key}: the address cannot be used (${code})`, { cause })
    this.name = 'ListenError'
    this.key = key
    this.code = code
  }
}

export interface Daemon {
  /** Where the page is. */
  readonly url: string
  /** Where the gateway is; `null` without one. */
  readonly gatewayUrl: string | null
  readonly board: Board
  /** Swaps a valid configuration in whole: the endpoints of `kept` go on with the state and the turn that they have. */
  reload(config: Config, kept: ReadonlySet<string>): void
  /** A reload was refused: everything stays, and the metrics say so. */
  reloadRefused(): void
  /** Resolves when nothing is left running and the history is on disk. */
  stop(): Promise<void>
}

/** Configuration in, running daemon out. Rejects where the store or the address cannot be had. */
export async function startDaemon({ config, log, clock = systemClock }: DaemonDeps): Promise<Daemon> {
  let current = config
  let stopping = false
  const board = createBoard()
  const incidents = createIncidentLog()
  const us = createObserver()
  const journal = createJournal({ clock })
  const sightings = createSightings()
  const store = await openStore({
    ...config.store,
    clock,
    log,
    onCommit({ durationMs }) {
      metrics.storeCommitted(durationMs)
      recorder.committed(durationMs)
    },
  })
  const metrics: Metrics = createMetrics({
    board,
    incidents,
    clock,
    version,
    storeStatus: () => store.status(),
    scheduler: () => scheduler,
    observer,
    gateway: () => gatewayState(gateway),
  })
  const recorder = createMinuteStats({
    clock,
    queueRows: () => store.status().queueRows,
    residentBytes: () => process.memoryUsage.rss(),
    requests: () => metrics.requests(),
  })
  const prober = createProber({ clock })
  const selfWatch = watchSelf({
    clock,
    onJump(byMs) {
      const direction = byMs > 0 ? 'forward' : 'backward'
      // It is measured a little short or long: 3599.9 s were set as an hour.
      const seconds = Math.round(byMs / 1000)
      metrics.clockJumped(direction)
      log.warn({ direction, seconds: Math.abs(seconds) }, 'wall clock jumped')
      us.clockStepped(clock.monotonic(), 1000 * seconds)
      journal.stepped(1000 * seconds)
      poller.shift(byMs)
      sightings.shift(byMs)
    },
    onBlocked(from, to) {
      us.stalled(from, to)
      recorder.loopBlocked(to - from)
      journal.held(to - from)
    },
  })
  const poller = createPoller({
    prober,
    observer: us,
    checkSelf: () => selfWatch.check(),
    board,
    incidents,
    store,
    metrics,
    onChainEvent: (network, event) => gateway?.chainMoved(network, event),
    onJudged: (result) => sightings.take(result),
    pollSoon: (key) => scheduler.pollSoon(key),
    clock,
    log,
  })
  const scheduler = createScheduler({
    clock,
    concurrency: config.poll.concurrency,
    run: (key, signal) => poller.poll(key, signal),
    onLag(ms) {
      metrics.schedulerLag(ms)
      recorder.pollLate(ms)
    },
    onSkip(_key, reason, count) {
      metrics.schedulerSkipped(reason, count)
      recorder.pollsSkipped(count)
    },
  })
  const housekeeping = createHousekeeping({ store, clock, log })
  const calendar = createMaintenanceCalendar({
    clock,
    log,
    onChange(periods) {
      const now = clock.now()
      // A window may name endpoints that only some of its networks have.
      const ours = periods.filter((period) => endpointsIn(period, board).length > 0)
      board.putMaintenance(ours)
      store.maintain(maintainedTimes(ours, board, now), now)
    },
  })
  const http: HttpServer = createHttpServer({
    board,
    incidents,
    store,
    metrics,
    clock,
    log,
    version,
    options: { ...config.server.listen, ...config.server, tls: certificateOf(config.server) },
    ready: () => scheduler.firstRoundDone && !stopping,
    stopping: () => stopping,
    observer,
    journal,
    recorder,
    sightings,
    inspect: createInspector({ board, scheduler, prober, clock }),
    gateway: () => gateway?.report() ?? null,
  })
  let gateway: GatewayService | null = null

  /** Whether it is us. */
  function observer() {
    const { trouble } = store.status()
    const reasons = [...us.reasons(clock.monotonic()), ...(trouble === null ? [] : [unwritten(trouble)])]
    return { impaired: reasons.length > 0, reasons }
  }

  function apply(next: Config, kept: ReadonlySet<string>): void {
    const endpoints = next.networks.flatMap((network) => network.endpoints)
    const items = itemsOf(next)
    prober.retarget(targetsOf(next.networks), connectionsOf(next))
    current = next
    const networks = next.networks.map(({ network, endpoints: configured }) => ({
      network,
      endpoints: configured.map(({ endpoint, connection }) => ({
        endpoint,
        at: locationOf(new URL(connection.url.reveal()).hostname),
      })),
    }))
    poller.configure(networks, kept)
    const holding = endpoints.map(({ endpoint }) => ({
      endpoint: endpointKey(endpoint),
      holdMs: 2 * endpoint.intervalMs,
    }))
    sightings.retain(endpoints.map(({ endpoint }) => ({ key: endpointKey(endpoint), shards: endpoint.shards })))
    store.register(holding, clock.now())
    calendar.configure(next.maintenance)
    scheduler.configure(items, next.poll.concurrency)
    gateway?.reconfigure(gatewaySetupOf(next))
    metrics.configReloaded(true, clock.now())
  }

  let ownTimer: Timer | null = null
  function lookAfterOurselves(): void {
    const { trouble } = store.status()
    recorder.sample()
    journal.troubles([...us.lastingReasons(clock.monotonic()), ...(trouble === null ? [] : [unwritten(trouble)])])
    ownTimer = clock.after(OWN_LOOK_EVERY_MS, lookAfterOurselves)
  }

  let availabilityTimer: Timer | null = null
  async function refreshAvailability(nextMs: number): Promise<void> {
    const keys = current.networks.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpointKey(endpoint)))
    try {
      board.putAvailability(await store.availability(keys, clock.now()))
    } catch (error) {
      log.warn({ error: String(error) }, 'availability could not be worked out')
    }
    if (!stopping)
      availabilityTimer = clock.after(
        nextMs,
        () => void refreshAvailability(Math.min(2 * nextMs, AVAILABILITY_EVERY_MS)),
      )
  }

  apply(config, new Set())
  const saved = await store.savedHealth()
  poller.restore(saved, await earlierIncidents(store))
  journal.started(saved.reduce((last, { at }) => Math.max(last, at), 0))
  async function giveUp(key: ListenError['key'], cause: unknown): Promise<never> {
    selfWatch.stop()
    calendar.stop()
    await Promise.all([prober.close(), http.close(), gateway?.close()])
    await store.close()
    throw new ListenError(key, cause)
  }

  if (config.gateway.enabled) {
    gateway = createGatewayService({
      listen: { ...config.gateway.listen, tls: certificateOf(config.gateway) },
      setup: gatewaySetupOf(config),
      board,
      store,
      aliases: await store.aliases(),
      onDoubt: (key) => scheduler.pollSoon(key),
      metrics: metrics.gateway,
      clock,
      log,
    })
  }
  const address = await http.listen().catch((error: unknown) => giveUp('server.listen', error))
  const url = urlOf(address, config.server.tls !== null)
  let gatewayUrl: string | null = null
  if (gateway !== null) {
    const at = await gateway.listen().catch((error: unknown) => giveUp('gateway.listen', error))
    gatewayUrl = urlOf(at, config.gateway.tls !== null)
    log.info({ url: gatewayUrl, callers: config.gateway.callers.length }, 'gateway listening')
  }
  log.info({ url, endpoints: board.networks().reduce((sum, { endpoints }) => sum + endpoints.length, 0) }, 'listening')
  scheduler.start()
  lookAfterOurselves()
  // Neither may hold up the first polls.
  const housekept = housekeeping
    .start()
    .catch((error: unknown) => log.warn({ error: String(error) }, 'calendar jobs could not be started'))
    .then(() => refreshAvailability(AVAILABILITY_FIRST_MS))

  return {
    url,
    gatewayUrl,
    board,

    reload(next, kept) {
      apply(next, kept)
      journal.reloaded(board.networks().reduce((sum, { endpoints }) => sum + endpoints.length, 0))
      log.setLevel(next.log.level)
      const certificate = certificateOf(next.server)
      if (certificate !== null) http.useCertificate(certificate)
      const gatewayCertificate = certificateOf(next.gateway)
      if (gatewayCertificate !== null) gateway?.useCertificate(gatewayCertificate)
    },

    reloadRefused() {
      metrics.configReloaded(false, clock.now())
      journal.reloadRefused()
    },

    async stop() {
      stopping = true
      // Polls go on until the last request is answered by what they know.
      await gateway?.close()
      selfWatch.stop()
      calendar.stop()
      await scheduler.stop()
      await Promise.all([prober.close(), housekeeping.stop(), housekept])
      availabilityTimer?.cancel()
      ownTimer?.cancel()
      poller.saveAll()
      await http.close()
      await store.close()
    },
  }
}

/** To one origin: no poll that may run has to wait for a connection, nor one of its checks or shards for another. */
function connectionsOf({ networks }: Config): number {
  const requestsAtOnce = networks.flatMap(({ poll, endpoints }) =>
    endpoints.map(({ endpoint: { checks, shards } }) => poll.concurrencyPerHost * checks.length * shards.length),
  )
  return requestsAtOnce.reduce((most, count) => Math.max(most, count), 1)
}

/** Endpoints of one host and port share its limit of polls at once, whatever their paths; those of a network its own. */
function itemsOf(config: Config): ScheduledItem[] {
  return config.networks.flatMap(({ network, poll, endpoints }) =>
    endpoints.map(({ endpoint, connection }) => ({
      key: endpointKey(endpoint),
      intervalMs: endpoint.intervalMs,
      limits: [
        { name: `host ${new URL(connection.url.reveal()).host}`, concurrency: poll.concurrencyPerHost },
        { name: `network ${network.name}`, concurrency: poll.concurrency },
      ],
    })),
  )
}

function gatewaySetupOf({ gateway, networks }: Config): GatewaySetup {
  return {
    rules: {
      ...gateway,
      networks: networks.map(({ network, shards, host, endpoints }) => ({
        network,
        shards,
        host,
        endpoints: endpoints.map(({ endpoint }) => endpoint.name),
      })),
    },
    targets: targetsOf(networks),
    cacheMaxBytes: gateway.cacheMaxBytes,
    finalDepths: new Map(networks.map(({ network, finalDepth }) => [network.name, finalDepth])),
  }
}

function unwritten(trouble: string): string {
  return `the history cannot be written (${trouble})`
}

/** What the metrics tell of it besides what they count. */
function gatewayState(gateway: GatewayService | null): GatewayState | null {
  if (gateway === null) return null
  const { callers, networks } = gateway.report()
  return {
    callers: callers.map(({ name }) => name),
    networks: networks.map(({ name, endpoints }) => ({
      name,
      endpoints: endpoints.map(({ endpoint, excluded }) => ({ name: endpoint, eligible: excluded === null })),
    })),
  }
}

function certificateOf({ tls }: Pick<Config['server'], 'tls'>): { cert: string; key: string } | null {
  return tls === null ? null : { cert: tls.cert, key: tls.key.reveal() }
}

function urlOf({ host, port }: { host: string; port: number }, secure: boolean): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return `${secure ? 'https' : 'http'}://${shown}:${port}/`
}
