import type { Clock, Timer } from './clock.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config/config.ts'
import { endpointKey } from './core/endpoint.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import type { Logger } from './logger.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createProber } from './nodes/probe.ts'
import { watchClock } from './poll/clock-watch.ts'
import { createHousekeeping } from './poll/housekeeping.ts'
import { createPoller } from './poll/poller.ts'
import { createScheduler, type ScheduledItem } from './poll/scheduler.ts'
import { type Board, createBoard } from './state/board.ts'
import { openStore } from './store/open-store.ts'
import { targetsOf } from './targets.ts'
import { version } from './version.ts'

/** Availability changes slowly, and working it out reads much; only at the start it is wanted sooner. */
const AVAILABILITY_EVERY_MS = 60_000
const AVAILABILITY_FIRST_MS = 2000

export interface DaemonDeps {
  readonly config: Config
  readonly log: Logger
  /** Tests drive time through it. */
  readonly clock?: Clock
}

export interface Daemon {
  /** Where the page is. */
  readonly url: string
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
  const store = await openStore({
    ...config.store,
    clock,
    log,
    onCommit: ({ durationMs }) => metrics.storeCommitted(durationMs),
  })
  const metrics: Metrics = createMetrics({
    board,
    clock,
    version,
    storeStatus: () => store.status(),
    scheduler: () => scheduler,
    observer,
  })
  const prober = createProber({ clock })
  const poller = createPoller({ prober, board, store, metrics, clock, log })
  const scheduler = createScheduler({
    clock,
    concurrency: config.poll.concurrency,
    run: (key, signal) => poller.poll(key, signal),
    onLag: (ms) => metrics.schedulerLag(ms),
    onSkip: (_key, reason, count) => metrics.schedulerSkipped(reason, count),
  })
  const housekeeping = createHousekeeping({ store, clock, log })
  const clockWatch = watchClock({
    clock,
    onJump(direction, ms) {
      metrics.clockJumped(direction)
      log.warn({ direction, seconds: Math.round(ms / 1000) }, 'wall clock jumped')
    },
  })
  const http: HttpServer = createHttpServer({
    board,
    store,
    metrics,
    clock,
    log,
    version,
    options: { ...config.server.listen, ...config.server, tls: certificateOf(config) },
    ready: () => scheduler.firstRoundDone && !stopping,
    stopping: () => stopping,
    observer,
  })

  /** Whether it is us. */
  function observer() {
    const { trouble } = store.status()
    return trouble === null
      ? { impaired: false, reasons: [] }
      : { impaired: true, reasons: [`the history cannot be written (${trouble})`] }
  }

  function apply(next: Config, kept: ReadonlySet<string>): void {
    const endpoints = next.networks.flatMap((network) => network.endpoints)
    const items = itemsOf(next)
    prober.retarget(targetsOf(next.networks), connectionsOf(next))
    current = next
    const networks = next.networks.map(({ network, endpoints: configured }) => ({
      network,
      endpoints: configured.map(({ endpoint }) => endpoint),
    }))
    poller.configure(networks, kept)
    const holding = endpoints.map(({ endpoint }) => ({
      endpoint: endpointKey(endpoint),
      holdMs: 2 * endpoint.intervalMs,
    }))
    store.register(holding, clock.now())
    scheduler.configure(items, next.poll.concurrency)
    metrics.configReloaded(true, clock.now())
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
  poller.restore(await store.savedHealth())
  const address = await http.listen().catch(async (error: unknown) => {
    clockWatch.stop()
    await Promise.all([prober.close(), store.close()])
    throw error
  })
  const url = urlOf(address, config.server.tls !== null)
  log.info({ url, endpoints: board.networks().reduce((sum, { endpoints }) => sum + endpoints.length, 0) }, 'listening')
  scheduler.start()
  // Neither may hold up the first polls.
  const housekept = housekeeping
    .start()
    .catch((error: unknown) => log.warn({ error: String(error) }, 'calendar jobs could not be started'))
    .then(() => refreshAvailability(AVAILABILITY_FIRST_MS))

  return {
    url,
    board,

    reload(next, kept) {
      apply(next, kept)
      log.setLevel(next.log.level)
      const certificate = certificateOf(next)
      if (certificate !== null) http.useCertificate(certificate)
    },

    reloadRefused: () => metrics.configReloaded(false, clock.now()),

    async stop() {
      stopping = true
      clockWatch.stop()
      await scheduler.stop()
      await Promise.all([prober.close(), housekeeping.stop(), housekept])
      availabilityTimer?.cancel()
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
      lanes: [
        { name: `host ${new URL(connection.url.reveal()).host}`, concurrency: poll.concurrencyPerHost },
        { name: `network ${network.name}`, concurrency: poll.concurrency },
      ],
    })),
  )
}

function certificateOf({ server: { tls } }: Config): { cert: string; key: string } | null {
  return tls === null ? null : { cert: tls.cert, key: tls.key.reveal() }
}

function urlOf({ host, port }: { host: string; port: number }, secure: boolean): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return `${secure ? 'https' : 'http'}://${shown}:${port}/`
}
