import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../clock.ts'
import { type Cluster, createCluster } from '../cluster/cluster.ts'
import { createDatabaseClock, type DatabaseClock } from '../cluster/database-clock.ts'
import type { Config } from '../config/resolve.ts'
import type { ClusterReport } from '../core/cluster/report.ts'
import { unpolled } from '../core/verdict/health.ts'
import { followChainMoves } from '../poll/chain-moves.ts'
import type { IncidentRecorder } from '../poll/incident-recorder.ts'
import { createKeeper, type Keeper } from '../poll/keeper.ts'
import { createBoard, type WritableBoard } from '../state/board.ts'
import { createClusterTables } from '../store/postgres/cluster-tables.ts'
import type { RemoteStatus, Store } from '../store/store.ts'
import { polledNetworksOf } from '../targets.ts'
import { version } from '../version.ts'
import { followOtherMembers } from './other-members.ts'
import { createOwnedNetworks, type OwnedNetworks } from './owned-networks.ts'
import { createRemovedNetworks } from './removed-networks.ts'
import { type Role, type RoleParts, untilRead } from './role.ts'

/** A daemon as a member of a cluster: polls and keeps the networks whose leases it holds, and shows what all say. */
export function createMember({ config, settings, clock: ownClock }: MemberDeps): Role {
  const clock = createDatabaseClock(ownClock)
  const local = createBoard({ countsChanges: false })
  const shown = createBoard()
  const host = hostname()
  const id = `${host}-${randomBytes(4).toString('hex')}`
  let networks = config.networks
  let joined: Joined | null = null
  let hasBegun = false
  const stopping = new AbortController()

  function configure({ cluster, keeper }: Joined): void {
    keeper.configure(polledNetworksOf({ networks }))
    const ours = networks.map(({ network, endpoints }) => {
      return { network, endpoints: endpoints.map(({ endpoint }) => endpoint) }
    })
    cluster.configure(ours, settings.quorum)
  }

  return {
    clock,
    local,
    shown,
    rights: {
      member: id,
      vantage: settings.vantage,
      pollToken: (network) => joined?.cluster.pollToken(network) ?? null,
      keeperToken: (network) => joined?.cluster.keeperToken(network) ?? null,
    },
    polls: (network) => joined?.owned.has(network) === true,
    tells: (network) => joined?.keeper.keeps(network) === true,
    maySend: (network) => joined?.cluster.mayKeep(network) === true,
    // The same after a restart, so that channels hear of the end of our own trouble.
    name: `${settings.vantage}.${host}.${config.server.listen.port}`,
    // Incidents follow from the merged verdicts, which the keeper records.
    recorder: () => RECORDS_NOTHING,

    async synchronize({ shared }) {
      const sentAt = clock.monotonic()
      // Without the database, the clock of this machine is all there is.
      const [row] = (await shared?.database.query<{ now: number }>(DATABASE_NOW).catch(() => [])) ?? []
      if (row !== undefined) clock.synchronize(row.now, sentAt, clock.monotonic())
    },

    async restore(parts) {
      joined = join(parts, {
        id,
        url: config.server.publicUrl,
        settings,
        clock,
        local,
        shown,
        isConfigured: (name) => networks.some(({ network }) => network.name === name),
      })
      configure(joined)
      // While the database is away, no network is kept.
      const restored = () => Promise.all([parts.silences.restore(), parts.notifier.restore()])
      await restored().catch(() => void untilRead(restored, clock, stopping.signal))
      parts.journal.started(0)
    },

    configure(next) {
      networks = next.networks
      mirror(local, shown, clock)
      if (joined !== null) configure(joined)
    },

    async start() {
      if (joined === null) return
      joined.others.start()
      joined.removed.start()
      await joined.cluster.start()
    },

    get isReady() {
      hasBegun ||= joined?.cluster.hasBegun === true
      return hasBegun
    },

    get runsJobs() {
      return joined !== null && isFirst(joined.cluster.report())
    },

    report: () => joined?.cluster.report() ?? null,

    async stop() {
      stopping.abort()
      joined?.endMoves()
      await joined?.removed.stop()
      await Promise.all([joined?.cluster.stop(), joined?.others.stop()])
    },

    async leave() {
      joined?.keeper.stop()
      await joined?.store.flush()
      await joined?.cluster.releaseAll()
    },
  }
}

export interface MemberDeps {
  readonly config: Config
  readonly settings: NonNullable<Config['cluster']>
  readonly clock: Clock
}

interface Own extends Pick<MemberDeps, 'settings'> {
  readonly id: string
  /** Of its page. */
  readonly url: string | null
  readonly clock: DatabaseClock
  readonly local: WritableBoard
  readonly shown: WritableBoard
  readonly isConfigured: (network: string) => boolean
}

interface Joined {
  readonly cluster: Cluster
  readonly keeper: Keeper
  readonly others: ReturnType<typeof followOtherMembers>
  readonly owned: OwnedNetworks
  readonly endMoves: () => void
  readonly removed: ReturnType<typeof createRemovedNetworks>
  readonly store: Store
}

/** Connects what a member does for the others with what it does for itself. */
function join(parts: RoleParts, { id, url, settings, clock, local, shown, isConfigured }: Own): Joined {
  const { log, incidents, observer, store, silences, notifier, poller, gateway } = parts
  const { shared } = store
  if (shared === null) throw new Error('a cluster needs PostgreSQL')
  const tables = createClusterTables(shared.database)
  const owned = createOwnedNetworks({ ...parts, clock })
  const keeper = createKeeper({
    board: shown,
    incidents,
    store,
    reads: store.certain,
    saveMerged: shared.merged,
    liveVantages: () => new Set(cluster.report().members.flatMap(({ isLive, vantage }) => (isLive ? [vantage] : []))),
    heardMsAgo: () => cluster.heardMsAgo(),
    hearsOthers: () => cluster.hearsOthers(),
    leaseMs: settings.leaseMs,
    notify: notifier.changed,
    notifier: {
      async adopt(names) {
        // It may have started while they could not be read.
        await Promise.all([silences.restore(), notifier.restore()])
        await notifier.adopt(names, store.certain)
      },
      adoptLate: (late) =>
        notifier.adopt(new Set(late.map(({ network }) => network)), store.certain, {
          incidents: late.map(({ id }) => id),
        }),
      leave: notifier.leave,
    },
    clock,
    log,
  })
  const others = followOtherMembers({
    store,
    shared,
    incidents,
    keeps: keeper.keeps,
    keeperToken: (network) => cluster.keeperToken(network),
    onLate: (late) => void keeper.adopt(late),
    onSilence: silences.learn,
    onAliases: (aliases) => gateway()?.learnAliases(aliases),
    clock,
    log,
  })
  const cluster = createCluster({
    clock,
    log,
    tables,
    settings: { id, version, url, ...settings },
    local,
    shown,
    standingOf: poller.standing,
    removed: () => removed.kept(),
    isImpaired: () => observer.lastingReasons(clock.monotonic()).length > 0,
    isReplaying: shared.isReplaying,
    storeStatus: () => ({ ...(store.status().remote ?? NOT_REMOTE), lagMs: shared.database.lagMs }),
    hooks: {
      onOwned: owned.take,
      onReleased: owned.release,
      onKept: (network) => void keeper.keep(network),
      async onDropped(network) {
        await keeper.drop(network)
        others.readAnew(network)
      },
      onMerged: keeper.merged,
    },
  })
  const removed = createRemovedNetworks({
    incidents,
    keeper,
    reads: store.certain,
    notifier,
    isConfigured,
    isAgreed: () =>
      isFirst(cluster.report()) && !cluster.report().members.some(({ isLive, differs }) => isLive !== false && differs),
    clock,
    log,
  })
  const endMoves = followChainMoves({
    board: local,
    polls: owned.has,
    onVote: parts.sightings.takeVote,
    onEvent: (network, event) => gateway()?.chainMoved(network, event),
  })
  return { cluster, keeper, others, owned, removed, endMoves, store }
}

const DATABASE_NOW = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now'
const NOT_REMOTE: RemoteStatus = { reachable: true, since: 0, spoolRows: 0, rowsRefused: 0 }
const RECORDS_NOTHING: IncidentRecorder = {
  configure() {},
  restore() {},
  haltedShards: () => [],
  judged() {},
  standing() {},
  retain() {},
}

/** One live member acts for all where one is enough. */
function isFirst({ self, members }: ClusterReport): boolean {
  return members.every(({ id, isLive }) => isLive === false || id >= self)
}

/** Gives the merged board the networks and counters of the local one; known endpoints keep what is shown of them. */
function mirror(local: WritableBoard, shown: WritableBoard, clock: Clock): void {
  const now = clock.now()
  shown.configure(
    local.networks().map(({ standing: { network }, endpoints }) => ({
      network,
      fresh: endpoints.map(({ health: { endpoint }, tally }) => {
        const before = shown.entry(network.name, endpoint.name)?.health
        return { health: before === undefined ? unpolled(endpoint, now) : { ...before, endpoint }, tally }
      }),
    })),
  )
}
