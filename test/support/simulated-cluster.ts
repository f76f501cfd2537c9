import type { Clock, Timer } from '../../src/clock.ts'
import type { ClusterLease } from '../../src/core/cluster/report.ts'
import type {
  ClusterHint,
  ClusterTables,
  HeldLease,
  LeaseKey,
  MemberRow,
  StoredVote,
} from '../../src/store/cluster-tables.ts'
import type { FakeClock } from './fake-clock.ts'
import { createPollingMember } from './polling-member.ts'

/** The database of a cluster, with the statements of `store/postgres/cluster-tables.ts` as functions. */
export function createSimulatedDatabase(now: () => number) {
  const members = new Map<string, MemberRow>()
  const leases = new Map<string, ClusterLease>()
  const votes = new Map<string, StoredVote & { token: number; version: number }>()
  const listeners = new Map<(hint: ClusterHint) => void, string>()
  const accepted: AcceptedWrite[] = []
  let version = 0

  const keyOf = ({ kind, vantage, network }: LeaseKey) => `${kind} ${vantage} ${network}`
  const holds = (member: string, lease: HeldLease) => {
    const row = leases.get(keyOf(lease))
    return row?.member === member && row.token === lease.token
  }
  const hint = (from: string, of: ClusterHint) => {
    for (const [listener, member] of listeners) if (member !== from) listener(of)
  }
  const free = (member: string, rows: readonly LeaseKey[]) => {
    for (const key of rows) {
      const row = leases.get(keyOf(key))
      if (row !== undefined) leases.set(keyOf(key), { ...row, member: null, expiresAt: now() })
    }
    if (rows.length > 0) hint(member, 'leases')
  }

  const tables = {
    view: () => ({ now: now(), members: [...members.values()], leases: [...leases.values()] }),

    renew(member, held, leaseMs) {
      const startedAt = members.get(member.id)?.startedAt ?? now()
      members.set(member.id, { ...member, startedAt, seenAt: now() })
      const kept = held.filter((lease) => holds(member.id, lease))
      for (const lease of kept) leases.set(keyOf(lease), { ...lease, member: member.id, expiresAt: now() + leaseMs })
      return kept
    },

    claim(member, wanted, leaseMs) {
      return wanted.flatMap((key) => {
        const row = leases.get(keyOf(key))
        if (row !== undefined && row.member !== null && row.expiresAt > now()) return []
        const lease = { ...key, token: (row?.token ?? 0) + 1 }
        leases.set(keyOf(key), { ...lease, member, expiresAt: now() + leaseMs })
        return [lease]
      })
    },

    release(member, held) {
      free(
        member,
        held.filter((lease) => holds(member, lease)),
      )
    },

    leave(member) {
      members.delete(member)
      free(
        member,
        [...leases.values()].filter((row) => row.member === member),
      )
    },

    writeVotes(member, vantage, written, isUrgent) {
      const before = version
      for (const vote of written) {
        const lease = { kind: 'poll', vantage, network: vote.network, token: vote.token } as const
        if (!holds(member, lease)) continue
        accepted.push({ at: now(), member, vantage, network: vote.network, token: vote.token })
        version++
        votes.set(`${vantage} ${vote.network} ${vote.endpoint}`, { ...vote, vantage, member, version })
      }
      if (isUrgent && version > before) hint(member, 'votes')
    },

    readVotes: (position, member) => ({
      next: String(version + 1),
      votes: [...votes.values()].filter((vote) => vote.version >= Number(position) && vote.member !== member),
    }),
  } satisfies {
    [Name in Exclude<keyof ClusterTables, 'onHint'>]: (
      ...args: Parameters<ClusterTables[Name]>
    ) => Awaited<ReturnType<ClusterTables[Name]>>
  }

  return {
    tables,
    accepted: accepted as readonly AcceptedWrite[],
    leases: () => [...leases.values()],
    holds,
    onHint(member: string, listener: (of: ClusterHint) => void) {
      listeners.set(listener, member)
      return () => void listeners.delete(listener)
    },
  }
}

export interface AcceptedWrite {
  readonly at: number
  readonly member: string
  readonly vantage: string
  readonly network: string
  readonly token: number
}

export type SimulatedDatabase = ReturnType<typeof createSimulatedDatabase>

/** How long a statement takes to the database and back, and whether it, or its answer, is lost. */
export interface Travel {
  readonly thereMs: number
  readonly backMs: number
  readonly lost: 'no' | 'statement' | 'answer'
}

/** As in `store/postgres/cluster-tables.ts`. */
const ANSWER_WITHIN_MS = 3000

/** One member over a simulated database, which may be paused and killed, and whose wall clock is wrong. */
export function createSimulatedMember(options: SimulatedMemberOptions) {
  const { id, vantage, world, database, leaseMs, wallOffsetMs, travel, networks } = options
  const backlog: (() => void)[] = []
  let isPaused = false
  let isDead = false

  function whenRunning(task: () => void): void {
    if (isDead) return
    if (isPaused) backlog.push(task)
    else task()
  }

  const clock: Clock = {
    now: () => world.now() + wallOffsetMs,
    monotonic: () => world.monotonic() + wallOffsetMs / 7,
    after: (delayMs, task): Timer => {
      let isCancelled = false
      const timer = world.after(delayMs, () => whenRunning(() => (isCancelled ? undefined : task())))
      return {
        cancel() {
          isCancelled = true
          timer.cancel()
        },
      }
    },
    sleep: (ms) => new Promise((resolve) => void clock.after(ms, () => resolve())),
  }

  /** Statements that were sent with a token that was not the current one when they were sent. */
  const staleSends: AcceptedWrite[] = []

  function call<T>(run: () => T): Promise<T> {
    const { thereMs, backMs, lost } = travel()
    return new Promise((resolve, reject) => {
      const timeout = clock.after(ANSWER_WITHIN_MS, () => reject(new Error('no answer')))
      if (lost === 'statement') return
      world.after(thereMs, () => {
        const answer = run()
        if (lost === 'answer') return
        world.after(backMs, () =>
          whenRunning(() => {
            timeout.cancel()
            resolve(answer)
          }),
        )
      })
    })
  }

  const { tables: sync } = database
  const tables: ClusterTables = {
    view: () => call(() => sync.view()),
    renew: (...args) => call(() => sync.renew(...args)),
    claim: (...args) => call(() => sync.claim(...args)),
    release: (...args) => call(() => sync.release(...args)),
    leave: (...args) => call(() => sync.leave(...args)),
    readVotes: (...args) => call(() => sync.readVotes(...args)),
    onHint(member, listener) {
      return database.onHint(member, (of) => options.hearsHints !== false && whenRunning(() => listener(of)))
    },
    writeVotes(member, of, votes, isUrgent) {
      if (options.hasVotesRefused === true) return Promise.reject(new Error('refused'))
      for (const { network: name, token } of votes) {
        const isCurrent = database.holds(member, { kind: 'poll', vantage: of, network: name, token })
        if (!isCurrent) staleSends.push({ at: world.now(), member, vantage: of, network: name, token })
      }
      return call(() => sync.writeVotes(member, of, votes, isUrgent))
    },
  }

  const member = createPollingMember({
    id,
    vantage,
    clock,
    tables,
    leaseMs,
    networks,
    isImpaired: options.isImpaired ?? (() => false),
    isReplaying: options.isReplaying ?? (() => false),
    handsOverInMs: options.handsOverInMs ?? 0,
    polls: () => clock.monotonic() >= (options.pollsFrom ?? Number.NEGATIVE_INFINITY),
  })
  const { cluster, polled, kept } = member

  return {
    id,
    vantage,
    networks,
    cluster,
    local: member.local,
    shown: member.shown,
    released: member.released,
    pollNow: member.pollNow,
    says: member.says,
    seesFork: member.seesFork,
    staleSends: staleSends as readonly AcceptedWrite[],
    isRunning: () => !isDead && !isPaused,
    isDead: () => isDead,
    polls: (name: string) => !isDead && !isPaused && polled.has(name),
    keeps: (name: string) => !isDead && !isPaused && kept.has(name),

    start: () => void member.start(),

    /** As a SIGSTOP does it: time passes, nothing runs. */
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      for (const task of backlog.splice(0)) whenRunning(task)
    },
    kill() {
      isDead = true
    },
    /** As a SIGTERM does it. */
    async leave() {
      await cluster.stop()
      polled.clear()
      kept.clear()
      await cluster.releaseAll()
      isDead = true
    },
  }
}

export interface SimulatedMemberOptions {
  /** The database takes none of its votes. */
  readonly hasVotesRefused?: boolean
  readonly id: string
  readonly vantage: string
  readonly world: FakeClock
  readonly database: SimulatedDatabase
  readonly leaseMs: number
  /** How wrong its wall clock is; its monotonic clock began at another time too. */
  readonly wallOffsetMs: number
  readonly travel: () => Travel
  readonly networks: readonly string[]
  readonly isImpaired?: () => boolean
  readonly isReplaying?: () => boolean
  readonly handsOverInMs?: number
  /** Notifications of the database may be lost. */
  readonly hearsHints?: boolean
  /** When it begins to poll what it owns, on its monotonic clock; at once by default. */
  readonly pollsFrom?: number
}

export type SimulatedMember = ReturnType<typeof createSimulatedMember>

/** Runs the world in small steps; what settles within a step is done before the next. */
export async function advance(world: FakeClock, ms: number, stepMs: number, after?: () => void): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await world.advance(stepMs)
    for (let turn = 0; turn < 30; turn++) await Promise.resolve()
    after?.()
  }
}
