import type { ClusterLease } from '../core/cluster/report.ts'
import {
  type ClusterTables,
  type ClusterView,
  type HeldLease,
  LEASE_KINDS,
  type LeaseKey,
  type LeaseKind,
  type LiveMember,
} from '../store/cluster-tables.ts'
import type { DatabaseClock, Moment } from './database-clock.ts'
import { candidatesFor, planLeases, type SharedNetwork } from './lease-plan.ts'

/** The leases of one member: claims its share, renews it, and gives back what others should have. */
export function createLeases({ clock, tables, leaseMs, self, networks, removed, hooks }: LeasesDeps): Leases {
  const held = new Map<string, Held>()
  /** Leases that the database counts as ours although we do not: the answer to a claim was lost. */
  let forgotten: readonly HeldLease[] = []
  /** Leases that were given back, as long as the database has not confirmed it. They are never taken up again. */
  const releasing = new Map<string, HeldLease>()
  const freeLeases = createFreeLeases()
  let isLeftFree = false
  let renewedAt: Moment | null = null
  let renewedAs: LiveMember | null = null
  let reachedAt: number | null = null
  let returnedAt = Number.NEGATIVE_INFINITY

  function take(lease: HeldLease, sentAt: Moment): void {
    const key = keyOf(lease)
    const before = held.get(key)
    freeLeases.taken(key)
    if (before?.lease.token === lease.token) {
      before.sentAt = sentAt
      return
    }
    if (before !== undefined) drop(before.lease)
    held.set(key, { lease, sentAt })
    hooks.onClaimed(lease)
  }

  function drop(lease: HeldLease): void {
    if (held.delete(keyOf(lease))) hooks.onLost(lease)
  }

  async function renew(me: LiveMember): Promise<void> {
    const sentAt = clock.moment()
    const asked = [...[...held.values()].map(({ lease }) => lease), ...forgotten]
    const kept = await tables.renew(me, asked, leaseMs)
    forgotten = []
    renewedAt = sentAt
    renewedAs = me
    const still = new Set(kept.map(idOf))
    for (const lease of asked) if (!still.has(idOf(lease))) drop(lease)
    for (const lease of kept) take(lease, sentAt)
  }

  /** Compares what we hold with what the database says. */
  function reconcile({ leases }: ClusterView, me: LiveMember): void {
    const rows = new Map(leases.map((row) => [keyOf(row), row]))
    for (const [key, { lease }] of held) {
      const row = rows.get(key)
      if (row?.member !== me.id || row.token !== lease.token) drop(lease)
    }
    const orphans = leases.filter((row) => row.member === me.id && !held.has(keyOf(row)))
    for (const id of releasing.keys()) if (!orphans.some((row) => idOf(row) === id)) releasing.delete(id)
    forgotten = orphans.filter((row) => !releasing.has(idOf(row)))
  }

  async function share(kind: LeaseKind, view: ClusterView, me: LiveMember): Promise<void> {
    const vantage = kind === 'keep' ? '' : me.vantage
    const leases = view.leases.filter((row) => row.kind === kind && row.vantage === vantage)
    const known = networks()
    const now = clock.monotonic()
    const takesOver = mayTakeOver()
    const isTaken = ({ member, expiresAt }: ClusterLease) => member !== null && (expiresAt > view.now || !takesOver)
    const keys = known.map(({ name: network }) => keyOf({ kind, vantage, network }))
    freeLeases.note(keys, new Set(leases.filter(isTaken).map(keyOf)), now)
    const alive = { ...me, startedAt: view.now, seenAt: view.now }
    const plan = planLeases({
      self: me.id,
      now: view.now,
      candidates: candidatesFor(kind, alive, view.members, view.now - leaseMs),
      isReplaying: kind === 'keep' && me.replaying,
      networks: kind === 'keep' ? known.map(({ name }) => ({ name, weight: 1 })) : known,
      leases,
      mayTakeOver: takesOver,
      isOverdue: (network) => freeLeases.isOverdue(keyOf({ kind, vantage, network }), now),
    })
    const others = kind === 'keep' ? (removed?.() ?? NONE) : NONE
    const lasting = new Set([...known.map(({ name }) => name), ...others])
    const gone = [...held.values()].filter(({ lease }) => lease.kind === kind && !lasting.has(lease.network))
    // Handing over takes a while, in which nothing is renewed.
    if (plan.release.length > 0) await renew(me)
    const given = plan.release.flatMap((network) => held.get(keyOf({ kind, vantage, network })) ?? [])
    await release([...gone, ...given].map(({ lease }) => lease))
    const unheld = [...others].filter((network) => takesOver && !held.has(keyOf({ kind, vantage, network })))
    const wanted = [...plan.claim, ...unheld].map((network) => ({ kind, vantage, network }))
    if (wanted.length > 0) await claim(wanted, me)
    isLeftFree ||= plan.left > 0
  }

  function mayTakeOver(): boolean {
    return clock.monotonic() - returnedAt >= leaseMs
  }

  /** A slow round looks like an outage of the database. Only one of several counts, or no lease would ever be taken over. */
  function noteReached(now: number): void {
    const before = reachedAt ?? now
    const silentMs = now - before
    const isNews = before - returnedAt >= leaseMs
    if (silentMs > leaseMs || (silentMs > leaseMs / 2 && isNews)) returnedAt = now
    reachedAt = now
  }

  async function claim(wanted: readonly LeaseKey[], me: LiveMember): Promise<void> {
    const sentAt = clock.moment()
    for (const lease of await tables.claim(me.id, wanted, leaseMs)) take(lease, sentAt)
  }

  async function release(leases: readonly HeldLease[]): Promise<void> {
    if (leases.length === 0) return
    await hooks.beforeRelease(leases)
    for (const lease of leases) {
      held.delete(keyOf(lease))
      releasing.set(idOf(lease), lease)
    }
    await confirmReleases()
  }

  async function confirmReleases(): Promise<void> {
    if (releasing.size === 0) return
    await tables.release(self().id, [...releasing.values()])
    releasing.clear()
  }

  return {
    async round() {
      const me = self()
      reachedAt ??= clock.monotonic()
      const isDue = renewedAt === null || clock.since(renewedAt) >= leaseMs / 3 || isNews(renewedAs, me)
      if (isDue || forgotten.length > 0) await renew(me)
      const view = await tables.view()
      noteReached(clock.monotonic())
      reconcile(view, me)
      await confirmReleases()
      isLeftFree = false
      for (const kind of LEASE_KINDS) await share(kind, view, me)
      return { view, againInMs: isLeftFree ? CLAIMED_BY_ANYONE_AFTER_MS : firstExpiryIn(view, me.id) }
    },

    mayTakeOver,
    token: (kind, vantage, network) => held.get(keyOf({ kind, vantage, network }))?.lease.token ?? null,
    mayWrite(kind, vantage, network) {
      const sentAt = held.get(keyOf({ kind, vantage, network }))?.sentAt
      return sentAt !== undefined && clock.since(sentAt) < leaseMs * (1 - MARGIN)
    },

    async leave() {
      held.clear()
      await tables.leave(self().id)
    },
  }
}

export interface Leases {
  /** Renews, claims and gives back. Call it every second at least; rejects while the database is away. */
  round(): Promise<Round>
  /** `false` for one lease after the database was away: expired leases are left to their holders. */
  mayTakeOver(): boolean
  /** `null` without the lease. It may have expired: the database decides what it is good for. */
  token(kind: LeaseKind, vantage: string, network: string): number | null
  /** Whether no other member can have claimed the lease yet, by the clocks of this machine. */
  mayWrite(kind: LeaseKind, vantage: string, network: string): boolean
  /** Frees everything; call it once no round runs. */
  leave(): Promise<void>
}

export interface Round {
  readonly view: ClusterView
  /** When a lease of another member will be free unless it acts; `undefined` if none will be. */
  readonly againInMs: number | undefined
}

export interface LeasesDeps {
  readonly clock: Pick<DatabaseClock, 'monotonic' | 'moment' | 'since'>
  readonly tables: Pick<ClusterTables, 'view' | 'renew' | 'claim' | 'release' | 'leave'>
  readonly leaseMs: number
  readonly self: () => LiveMember
  /** Those that this member monitors. */
  readonly networks: () => readonly SharedNetwork[]
  /** Networks that are not monitored any more: it claims those of them that no other member keeps. */
  readonly removed?: (() => ReadonlySet<string>) | undefined
  readonly hooks: {
    readonly onClaimed: (lease: HeldLease) => void
    /** Another member has it. */
    readonly onLost: (lease: HeldLease) => void
    /** Awaited before leases are given back. */
    readonly beforeRelease: (leases: readonly HeldLease[]) => Promise<void>
  }
}

interface Held {
  readonly lease: HeldLease
  /** When it was last claimed or renewed. */
  sentAt: Moment
}

const NONE: ReadonlySet<string> = new Set()

/** The part of a lease for which its holder no longer writes, as two monotonic clocks may differ. */
const MARGIN = 0.1
/** The member whose share it is claims a free network at its next round; if it does not, anyone may. */
const CLAIMED_BY_ANYONE_AFTER_MS = 500

/** Whether the others share leases in another way once they know it. */
function isNews(before: LiveMember | null, now: LiveMember): boolean {
  return before?.impaired !== now.impaired || before.replaying !== now.replaying
}

/** Remembers since when a lease is seen without a holder. Times are monotonic. */
function createFreeLeases() {
  const since = new Map<string, number>()
  return {
    taken: (key: string) => void since.delete(key),
    isOverdue: (key: string, now: number) => now - (since.get(key) ?? now) >= CLAIMED_BY_ANYONE_AFTER_MS,

    note(keys: readonly string[], taken: ReadonlySet<string>, now: number): void {
      for (const key of keys) {
        if (taken.has(key)) since.delete(key)
        else if (!since.has(key)) since.set(key, now)
      }
    },
  }
}

/** After a lease has expired by the clock of the database, it is claimed this soon. */
const AFTER_EXPIRY_MS = 20

/** Time until the next lease of another member expires, unless it is renewed. */
function firstExpiryIn({ now, leases }: ClusterView, self: string): number | undefined {
  const left = leases.flatMap(({ member, expiresAt }) =>
    member === null || member === self || expiresAt <= now ? [] : [expiresAt - now],
  )
  return left.length === 0 ? undefined : Math.min(...left) + AFTER_EXPIRY_MS
}

function keyOf({ kind, vantage, network }: LeaseKey): string {
  return `${kind} ${vantage} ${network}`
}

function idOf(lease: HeldLease): string {
  return `${keyOf(lease)} ${lease.token}`
}
