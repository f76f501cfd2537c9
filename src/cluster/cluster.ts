import type { Quorum } from '../core/cluster/merge.ts'
import type { MergedStanding } from '../core/cluster/merge-standings.ts'
import type { ClusterReport } from '../core/cluster/report.ts'
import type { UnixMs } from '../core/time.ts'
import { type Log, placeOf } from '../log.ts'
import type { WritableBoard } from '../state/board.ts'
import type { ClusterTables, ClusterView, HeldLease, LiveMember, MemberRow } from '../store/cluster-tables.ts'
import type { DatabaseClock } from './database-clock.ts'
import { createExchange } from './exchange.ts'
import { createImpairment } from './impairment.ts'
import type { SharedNetwork } from './lease-plan.ts'
import { createLeases } from './leases.ts'
import { createLoop } from './loop.ts'
import type { ShownBoard } from './network-votes.ts'
import { networksDigest } from './networks-digest.ts'
import type { NetworkWord } from './vote-codec.ts'
import { type ClusterNetwork, createVotes } from './votes.ts'

/** One member of a cluster: which networks it polls and keeps, what it tells the others, and what all say together. */
export function createCluster(deps: ClusterDeps): Cluster {
  const { clock, log, settings, local, hooks } = deps
  const { id, version, url, vantage, leaseMs } = settings
  const tables = timed(deps.tables, clock)
  const votes = createVotes({
    self: { vantage, member: id },
    local,
    shown: deps.shown,
    standingOf: deps.standingOf,
    onMerged: hooks.onMerged,
  })
  const leases = createLeases({
    clock,
    tables,
    leaseMs,
    self,
    networks: () => shared,
    removed: deps.removed,
    hooks: { onClaimed, onLost: (lease) => void handOver(lease, false), beforeRelease },
  })
  const impairment = createImpairment({ clock, id, isFaulty: deps.isImpaired, isPolling: () => polledSince.size > 0 })
  const rounds = createLoop({ clock, everyMs: Math.min(ROUND_EVERY_MS, leaseMs / 3), run: round })
  const exchange = createExchange({
    clock,
    log,
    tables,
    votes,
    local,
    vantage,
    member: id,
    polledSince: (network) => polledSince.get(network),
    writableToken,
    impaired: () => impairment.among(view),
  })
  /** Networks that this member polls, and since when. */
  const polledSince = new Map<string, UnixMs>()
  let shared: readonly SharedNetwork[] = []
  let digest = ''
  let view: ClusterView = { now: 0, members: [], leases: [] }
  let isAway = false
  let endHints: (() => void) | null = null

  function self(): LiveMember {
    const state = { impaired: impairment.isImpaired(), replaying: deps.isReplaying() }
    return { id, vantage, version, url, networksDigest: digest, ...state }
  }

  function onClaimed({ kind, network, token }: HeldLease): void {
    if (kind === 'keep') return hooks.onKept(network, token)
    // A network that was polled without a lease goes on.
    if (!polledSince.has(network)) polledSince.set(network, clock.now())
    hooks.onOwned(network, token)
  }

  async function handOver({ kind, network }: HeldLease, isGivenBack: boolean): Promise<void> {
    if (kind === 'keep') return hooks.onDropped(network)
    polledSince.delete(network)
    await hooks.onReleased(network, isGivenBack)
  }

  async function beforeRelease(given: readonly HeldLease[]): Promise<void> {
    await Promise.all(given.map((lease) => handOver(lease, true)))
    // What is not written now is polled by the next holder at once.
    await exchange.write().catch(() => undefined)
  }

  async function round(): Promise<number | undefined> {
    let againInMs: number | undefined
    try {
      const result = await leases.round()
      view = result.view
      againInMs = result.againInMs
    } catch (error) {
      if (!isAway) log.warn({ error: placeOf(error) }, 'cluster: the database does not answer')
      isAway = true
      pollWithoutLease()
      throw error
    }
    if (isAway) log.info({}, 'cluster: the database answers again')
    isAway = false
    capAt(clock.now(), polledSince)
    for (const network of polledSince.keys()) if (isPolledElsewhere(network)) void handOver(leaseOf(network), false)
    // Expired leases are left to their holders for a while, who may be gone.
    if (!leases.mayTakeOver()) pollWithoutLease()
    return againInMs
  }

  const leaseOf = (network: string): HeldLease => ({ kind: 'poll', vantage, network, token: 0 })

  function isPolledElsewhere(network: string): boolean {
    return leases.token('poll', vantage, network) === null && isLeased(view, vantage, network)
  }

  function writableToken(network: string): number | null {
    return leases.mayWrite('poll', vantage, network) ? leases.token('poll', vantage, network) : null
  }

  /**
   * While the database is away, and until leases can be taken over, networks whose last votes have expired are polled
   * by each member for itself.
   */
  function pollWithoutLease(): void {
    for (const { name } of shared) {
      if (polledSince.has(name) || !votes.isStale(name, clock.now())) continue
      if (!isAway && isPolledElsewhere(name)) continue
      polledSince.set(name, clock.now())
      hooks.onOwned(name, null)
    }
  }

  return {
    configure(networks, quorum) {
      votes.configure(networks, quorum, (network) => polledSince.has(network))
      digest = networksDigest(networks)
      shared = networks.map(({ network, endpoints }) => ({ name: network.name, weight: weightOf(endpoints) }))
      for (const name of polledSince.keys()) if (!shared.some((one) => one.name === name)) polledSince.delete(name)
      if (endHints === null) return
      exchange.merge()
      rounds.soon(0)
    },

    async start() {
      endHints = tables.onHint(id, (hint) => {
        if (hint === 'leases') rounds.soon(0)
      })
      exchange.follow()
      await exchange.start()
      await rounds.start()
    },

    async stop() {
      endHints?.()
      await Promise.all([rounds.stop(), exchange.stop()])
    },

    releaseAll: () => leases.leave().catch(() => undefined),

    pollToken: (network) => leases.token('poll', vantage, network),
    keeperToken: (network) => leases.token('keep', '', network),
    mayKeep: (network) => leases.mayWrite('keep', '', network),
    get hasBegun() {
      return exchange.hasRead && view.members.length > 0 && votes.areAllPolled(polledSince, clock.now())
    },
    heardMsAgo: exchange.heardMsAgo,
    hearsOthers: exchange.hearsOthers,

    report: () => reportOf({ view, isAway, self: self(), now: clock.now(), leaseMs, store: deps.storeStatus() }),
  }
}

export interface Cluster {
  /** Replaces all networks, also while running: call it after both boards are configured. */
  configure(networks: readonly ClusterNetwork[], quorum: Quorum): void
  /** Joins; resolves after the first round, in which leases are claimed: what it claims continues from votes read before. */
  start(): Promise<void>
  /** Claims and reads nothing any more; the last votes are written. Leases are held until they expire. */
  stop(): Promise<void>
  /** Frees all leases, so that others take them at once. Call it after the last write. */
  releaseAll(): Promise<void>
  /** Of the lease to poll a network; `null` without it. Kept while the database is away and no other member has it. */
  pollToken(network: string): number | null
  /** Of the lease to keep a network's incidents. */
  keeperToken(network: string): number | null
  /** Whether no other member can have claimed that lease yet, by the clocks of this machine. */
  mayKeep(network: string): boolean
  /** Whether the votes of the others, and their leases, were read, and this vantage has polled every network. */
  readonly hasBegun: boolean
  /** How long ago the votes that are known were asked for: later, the others may have said something else. */
  heardMsAgo(): number
  /** Whether that was just now, and the database has answered since. */
  hearsOthers(): boolean
  report(): ClusterReport
}

export interface ClusterDeps {
  readonly clock: DatabaseClock
  readonly log: Log
  readonly tables: ClusterTables
  readonly settings: {
    /** Of this run of the daemon: no other run may ever have had it. */
    readonly id: string
    readonly version: string
    /** Of its page. */
    readonly url: string | null
    readonly vantage: string
    readonly leaseMs: number
  }
  /** What this vantage sees: written by the poller, and with the votes of other members of the vantage. */
  readonly local: Pick<WritableBoard, 'entry' | 'network' | 'put' | 'putStanding' | 'subscribe'>
  /** What all vantages say together. */
  readonly shown: ShownBoard
  /** What this member's polls say of a network itself. */
  readonly standingOf: (network: string) => NetworkWord | null
  /** Networks that are no longer configured, and that this member is to keep. */
  readonly removed?: () => ReadonlySet<string>
  /** Whether Heartline's own network or machine keeps it from judging nodes. */
  readonly isImpaired: () => boolean
  /** Whether its incidents cannot be continued yet. */
  readonly isReplaying: () => boolean
  readonly storeStatus: () => ClusterReport['store']
  readonly hooks: ClusterHooks
}

export interface ClusterHooks {
  /** Poll this network from now on. `token` is `null` without a lease, while the database is away; one may follow. */
  readonly onOwned: (network: string, token: number | null) => void
  /**
   * Stop polling this network. When it is given back, this is awaited before another member may claim it; else another one
   * has it already.
   */
  readonly onReleased: (network: string, isGivenBack: boolean) => void | Promise<void>
  readonly onKept: (network: string, token: number) => void
  readonly onDropped: (network: string) => void | Promise<void>
  /** Every second, and after every change. */
  readonly onMerged: (network: string, merged: MergedStanding) => void
}

/** How often members look whether a lease is free, and whether others need a share. */
const ROUND_EVERY_MS = 1000
/** Sets the clock with each view. */
function timed(tables: ClusterTables, clock: DatabaseClock): ClusterTables {
  return {
    ...tables,
    async view() {
      const sentAt = clock.monotonic()
      const view = await tables.view()
      clock.synchronize(view.now, sentAt, clock.monotonic())
      return view
    },
  }
}

/** Before the first answer of the database, the clock was this member's own, and may have been ahead. */
function capAt(now: UnixMs, times: Map<string, UnixMs>): void {
  for (const [key, time] of times) if (time > now) times.set(key, now)
}

function isLeased({ leases, now }: ClusterView, vantage: string, network: string): boolean {
  return leases.some(
    (row) => row.kind === 'poll' && row.vantage === vantage && row.network === network && row.expiresAt > now,
  )
}

/** Polls per second. */
function weightOf(endpoints: ClusterNetwork['endpoints']): number {
  return endpoints.reduce((sum, { intervalMs }) => sum + 1000 / intervalMs, 0)
}

interface Known {
  readonly view: ClusterView
  /** Whether the view is from before the database went away. */
  readonly isAway: boolean
  readonly self: LiveMember
  readonly now: UnixMs
  readonly leaseMs: number
  readonly store: ClusterReport['store']
}

function reportOf({ view, isAway, self, now, leaseMs, store }: Known): ClusterReport {
  const ours: MemberRow = { ...self, startedAt: 0, seenAt: now }
  const wasLive = (seenAt: UnixMs) => isAway && seenAt > view.now - leaseMs
  const members = [ours, ...view.members.filter(({ id }) => id !== self.id)].map((member) => {
    const { id, vantage, version, url, seenAt, networksDigest } = member
    const isLive = seenAt > now - leaseMs || (wasLive(seenAt) ? null : false)
    const differs = networksDigest !== self.networksDigest
    return { id, vantage, version, url, seenAt, isLive, isSelf: member === ours, differs }
  })
  return { self: self.id, vantage: self.vantage, members: members.sort(byId), leases: view.leases, store }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}
