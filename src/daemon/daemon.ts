import { randomInt } from 'node:crypto'
import { type Clock, guardedClock, repeat, systemClock } from '../clock.ts'
import { urlOf } from '../config/addresses.ts'
import type { Config } from '../config/resolve.ts'
import { createObserver, type Observer } from '../core/observer/observer.ts'
import { createGatewayService, type GatewayService } from '../gateway/service.ts'
import { createHttpServer } from '../http/server.ts'
import { connectionCaps, descriptorLimit, largeAnswerBytes, memoryLimit } from '../limits.ts'
import { type Logger, stackOf } from '../log.ts'
import type { MinuteStats } from '../metrics/daemon-history.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import type { ErrorSource } from '../metrics/registry.ts'
import type { GatewayTraffic, GatewayWatchDeps } from '../notify/gateway-watch.ts'
import { createNotifier, type Notifier } from '../notify/notifier.ts'
import { createSilences, type Silences } from '../notify/silences.ts'
import { createInspector } from '../poll/on-demand-poll.ts'
import type { Scheduler } from '../poll/scheduler.ts'
import type { Board, WritableBoard } from '../state/board.ts'
import { createIncidentLog, type WritableIncidentLog } from '../state/incident-log.ts'
import { createJournal, type Journal } from '../state/observer-journal.ts'
import { type OpenedStore, openStore, readsAtStart } from '../store/open-store.ts'
import {
  connectionsOf,
  gatewaySetupOf,
  holdTimesOf,
  itemsOf,
  polledNetworksOf,
  shardsOf,
  targetsOf,
} from '../targets.ts'
import { version } from '../version.ts'
import { startJobs } from './calendar-jobs.ts'
import { listenerOf, listenGateway, renewCertificate } from './listeners.ts'
import { createMonitor } from './monitor.ts'
import { lastingTrouble, minutesOf, ownState } from './own-health.ts'
import { createAlone, type Role, saveState } from './role.ts'

/** Starts polls, page and gateway. Rejects if the store or a listen address cannot be used. */
export async function startDaemon({ config, log, clock: realClock = systemClock }: DaemonDeps): Promise<Daemon> {
  const guarded = guardedClock(realClock, (error) => reportTimerError(error, log, metrics))
  const role = await roleOf(config, guarded)
  const { clock, local, shown: board } = role
  const caps = connectionCaps(descriptorLimit())
  let isStopping = false
  const incidents = createIncidentLog()
  const observer = createObserver()
  const journal = createJournal({ clock })
  let saveAgain = () => {}
  const store = await openStore({
    ...config.store,
    onNewFile: () => saveAgain(),
    cluster: role.rights,
    clock,
    log,
    onCommit({ durationMs }) {
      metrics.storeCommitted(durationMs)
      parts.minutes.committed(durationMs)
    },
  })
  await role.synchronize(store)
  const silences = createSilences({ clock, store, reads: readsAtStart(store), log })
  const base = { clock, log, version, board, incidents, observer, journal, store, silences, cluster: role.report }
  const reports = { observer: () => ownState(observer, store, clock), gateway: () => gateway?.report() ?? null }
  const metrics = createMetrics({
    ...base,
    sparse: config.metrics.sparse,
    storeStatus: () => store.status(),
    scheduler: () => monitor.scheduler,
    ...reports,
    notifier: () => notifier.status(),
  })
  const traffic = () => trafficOf(gateway, metrics, board)
  const notifier = notifierOf(base, role, { scheduler: () => monitor.scheduler, traffic })
  const parts = { ...base, metrics, minutes: minutesOf(store, metrics, clock) }
  const monitor = createMonitor({
    ...parts,
    role,
    concurrency: config.poll.concurrency,
    notify: notifier.changed,
    onChainEvent: (network, event) => gateway?.chainMoved(network, event),
  })
  const { prober, poller, scheduler, calendar, sightings } = monitor
  const http = createHttpServer({
    ...parts,
    store: { ...store, incidents: store.certain.incidents },
    sightings,
    options: { ...config.server, ...listenerOf(config.server, caps.page), publicUrl: () => current.server.publicUrl },
    ready: () => scheduler.firstRoundDone && role.isReady && !isStopping,
    stopping: () => isStopping,
    ...reports,
    recorder: parts.minutes,
    inspect: createInspector({ board: local, scheduler, prober, clock }),
    notifier,
  })
  let gateway: GatewayService | null = null
  let current = config
  const reschedule = (kept?: ReadonlySet<string>) =>
    scheduler.configure(itemsOf(current, role.polls), current.poll.concurrency, kept)

  function apply(next: Config, kept: ReadonlySet<string>): void {
    board.putAnnouncements(next.announcements)
    notifier.configure(next.notify, next.server.publicUrl)
    prober.retarget(targetsOf(next.networks), connectionsOf(next))
    poller.configure(polledNetworksOf(next), kept)
    role.configure(next)
    sightings.retain(shardsOf(next))
    store.register(holdTimesOf(next), clock.now())
    calendar.configure(next.maintenance)
    current = next
    reschedule(kept)
    gateway?.reconfigure(gatewaySetupOf(next))
    metrics.configReloaded(true, clock.now())
  }

  /** Closes everything that a failed start has opened. */
  async function abandon(): Promise<void> {
    await Promise.all([monitor.stop(), role.stop(), http.close(), gateway?.close(), notifier.stop()])
    await store.close()
  }

  apply(config, new Set())
  await role.restore({ ...parts, notifier, poller, scheduler, sightings, reschedule, gateway: () => gateway })
  if (config.gateway.enabled) {
    gateway = createGatewayService({
      ...parts,
      board: local,
      metrics: metrics.gateway,
      listen: listenerOf(config.gateway, caps.gateway),
      limits: { connections: caps.upstream, largeAnswerBytes: largeAnswerBytes(memoryLimit()) },
      setup: gatewaySetupOf(config),
      aliases: await store.aliases(),
      onDoubt: (key) => scheduler.pollSoon(key),
    })
  }
  const address = await http.listen().catch(refusal('server.listen', abandon))
  const url = urlOf(address, config.server.tls !== null)
  const gatewayUrl = await listenGateway(gateway, config.gateway, log).catch(refusal('gateway.listen', abandon))
  log.info({ url, endpoints: endpointCount(board) }, 'listening')
  scheduler.start()
  notifier.start()
  const samples = repeat(clock, SAMPLE_EVERY_MS, () => sampleSelf(parts))
  saveAgain = () => saveState({ ...parts, notifier, poller, gateway: () => gateway })
  const jobs = startJobs({ ...base, role })

  return {
    url,
    gatewayUrl,
    board,

    reload(next, kept) {
      apply(next, kept)
      jobs.reloaded()
      journal.reloaded(endpointCount(board))
      log.setLevel(next.log.level)
      renewCertificate(http, next.server)
      renewCertificate(gateway, next.gateway)
    },

    countUncaught: (source) => metrics.errorUncaught(source),

    reloadRefused() {
      metrics.configReloaded(false, clock.now())
      journal.reloadRefused()
    },

    /** Stop order, repeated in docs/architecture.md and docs/operations.md. */
    async stop() {
      // 1. /-/ready answers 503.
      isStopping = true
      // 2. The gateway accepts no new requests and finishes those in flight, while polls keep verdicts current.
      await gateway?.close()
      // 3. No new poll starts; running polls are aborted. Then connections to nodes are closed.
      await Promise.all([monitor.stop(), role.stop()])
      // 4. Calendar jobs are aborted.
      samples.cancel()
      await jobs.stop()
      // 5. Messages in flight are finished; those that wait stay in the store.
      await notifier.stop()
      // 6. The state that a restart needs is queued for the store; then, other members of a cluster take over.
      poller.save()
      await role.leave()
      // 7. The page, the API and the metrics finish requests in flight and close.
      await http.close()
      // 8. The store writes its queue and closes.
      await store.close()
    },
  }
}

export interface DaemonDeps {
  readonly config: Config
  readonly log: Logger
  /** Tests drive time through it. */
  readonly clock?: Clock
}

/** A configured listen address cannot be used. */
export class ListenError extends Error {
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

/** Handles a failure to listen: the start ends with it, once everything is closed. */
function refusal(key: ListenError['key'], close: () => Promise<void>) {
  return async (cause: unknown): Promise<never> => {
    await close()
    throw new ListenError(key, cause)
  }
}

export interface Daemon {
  /** URL of the page. */
  readonly url: string
  /** `null` without a gateway. */
  readonly gatewayUrl: string | null
  readonly board: Board
  /** Replaces the whole configuration. Endpoints in `kept` keep their state and their place in the schedule. */
  reload(config: Config, kept: ReadonlySet<string>): void
  countUncaught(source: ErrorSource): void
  /** Reports a rejected reload to metrics and journal; the running configuration stays. */
  reloadRefused(): void
  /** Resolves when nothing is left running and the history is on disk. */
  stop(): Promise<void>
}

const SAMPLE_EVERY_MS = 1000
const RANDOM_STEPS = 2 ** 32

function sampleSelf({ minutes, journal, observer, store, clock }: Parts): void {
  minutes.sample()
  journal.troubles(lastingTrouble(observer, store, clock))
}

interface Parts extends Required<Pick<DaemonDeps, 'clock' | 'log'>> {
  readonly board: WritableBoard
  readonly incidents: WritableIncidentLog
  readonly observer: Observer
  readonly journal: Journal
  readonly store: OpenedStore
  readonly silences: Silences
  readonly metrics: Metrics
  readonly minutes: MinuteStats
}

/** What only a cluster needs is loaded only for one. */
async function roleOf(config: Config, clock: Clock): Promise<Role> {
  if (config.cluster === null) return createAlone(clock, config.store.url !== null)
  const { createMember } = await import('./member.ts')
  return createMember({ config, settings: config.cluster, clock })
}

function notifierOf(
  base: Pick<Parts, 'clock' | 'log' | 'board' | 'incidents' | 'observer' | 'store' | 'silences'>,
  { tells, maySend, name }: Role,
  {
    scheduler,
    traffic,
  }: Pick<GatewayWatchDeps, 'traffic'> & {
    readonly scheduler: () => Pick<Scheduler, 'firstRoundDone' | 'lateMs'>
  },
): Notifier {
  const trouble = () => lastingTrouble(base.observer, base.store, base.clock)
  const reads = readsAtStart(base.store)
  return createNotifier({ ...base, reads, tells, maySend, member: name, random, trouble, polls: scheduler, traffic })
}

function trafficOf(gateway: GatewayService | null, metrics: Metrics, board: Board): GatewayTraffic | null {
  if (gateway === null) return null
  const networks = () => board.networks().map(({ standing }) => standing.network.name)
  return { networks, failed: metrics.gateway.unanswered, hasEndpoint: gateway.hasEndpoint }
}

/** From 0 to 1. */
function random(): number {
  return randomInt(RANDOM_STEPS) / RANDOM_STEPS
}

function reportTimerError(error: unknown, log: Logger, metrics: Metrics): void {
  metrics.errorUncaught('timer')
  log.error(stackOf(error), 'error in a timer: Heartline goes on')
}

function endpointCount(board: Board): number {
  return board.networks().reduce((sum, { endpoints }) => sum + endpoints.length, 0)
}
