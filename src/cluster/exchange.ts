import { type Clock, repeat, type Timer } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'
import { type Log, placeOf } from '../log.ts'
import type { WritableBoard } from '../state/board.ts'
import type { ClusterTables } from '../store/cluster-tables.ts'
import { createLoop } from './loop.ts'
import type { Votes } from './votes.ts'

/** Writes our votes and reads those of the others, once a second, and shows what they come to. */
export function createExchange(deps: ExchangeDeps) {
  const { clock, log, tables, votes, local, member, vantage, impaired } = deps
  const loop = createLoop({ clock, everyMs: EXCHANGE_EVERY_MS, run: exchange })
  let position: string | null = null
  /** Monotonic; when the latest answer was asked for. */
  let readAt = Number.NEGATIVE_INFINITY
  /** Whether the latest attempt to read failed. */
  let isDeaf = false
  /** Whether the latest votes could not be written. */
  let isRefused = false
  /** Whether a verdict changed since votes were last written. */
  let hasNews = false
  let merging: Timer | null = null
  const endings: (() => void)[] = []

  async function exchange(): Promise<undefined> {
    try {
      // A member that cannot write its votes still shows those of the others.
      await write().then(
        () => {
          isRefused = false
        },
        (error: unknown) => {
          if (!isRefused) log.warn({ error: placeOf(error) }, 'cluster: votes cannot be written')
          isRefused = true
        },
      )
      const askedAt = clock.monotonic()
      const read = await tables.readVotes(position, member).catch((error: unknown) => {
        isDeaf = true
        throw error
      })
      position = read.next
      votes.read(read.votes, (network) => deps.polledSince(network) !== undefined, clock.now())
      readAt = askedAt
      isDeaf = false
    } finally {
      merge()
    }
  }

  async function write(): Promise<void> {
    const taken = votes.take(deps.writableToken)
    if (taken.length === 0) return
    const isUrgent = hasNews
    hasNews = false
    try {
      await tables.writeVotes(member, vantage, taken, isUrgent)
    } catch (error) {
      hasNews ||= isUrgent
      votes.putBack(taken)
      throw error
    }
  }

  function merge(): void {
    votes.merge(impaired(), clock.now())
  }

  const heardMsAgo = () => clock.monotonic() - readAt

  return {
    /** Writes our votes at once; rejects while the database is away. */
    write,
    /** Shows what has changed. */
    merge,

    /** Takes polls from now on. */
    follow(): void {
      endings.push(
        local.subscribe(({ network, endpoint, verdictChanged }) => {
          const since = deps.polledSince(network)
          if (since === undefined || endpoint === null) return
          votes.polled(network, endpoint, since)
          if (!verdictChanged) return
          hasNews = true
          loop.soon(TOLD_WITHIN_MS)
        }),
        tables.onHint(member, (hint) => {
          if (hint === 'votes') loop.soon(0)
        }),
      )
    },

    /** Resolves after the first attempt to read. */
    async start(): Promise<void> {
      // Votes expire also while the database does not answer.
      merging = repeat(clock, EXCHANGE_EVERY_MS, merge)
      await loop.start()
    },

    async stop(): Promise<void> {
      merging?.cancel()
      for (const end of endings) end()
      await loop.stop()
      await write().catch(() => undefined)
    },

    /** Whether the votes of the others were read once. */
    get hasRead(): boolean {
      return readAt > Number.NEGATIVE_INFINITY
    },
    /** How long ago the votes that are known were asked for: later, the others may have said something else. */
    heardMsAgo,
    /** Whether that was just now, and the database has answered since. */
    hearsOthers: (): boolean => !isDeaf && heardMsAgo() < HEARD_FOR_MS,
  }
}

export interface ExchangeDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  readonly log: Pick<Log, 'warn'>
  readonly tables: Pick<ClusterTables, 'readVotes' | 'writeVotes' | 'onHint'>
  readonly votes: Votes
  readonly local: Pick<WritableBoard, 'subscribe'>
  readonly member: string
  readonly vantage: string
  /** Since when this member polls the network. */
  readonly polledSince: (network: string) => UnixMs | undefined
  /** Of a lease that no other member can have claimed; else `null`. */
  readonly writableToken: (network: string) => number | null
  /** Ids of members whose votes do not count. */
  readonly impaired: () => ReadonlySet<string>
}

const EXCHANGE_EVERY_MS = 1000
/** A second between two attempts and one for each answer: a slow answer of the database is none that is missing. */
const HEARD_FOR_MS = 3000
/** A changed verdict is sent this soon, together with those that change with it. */
const TOLD_WITHIN_MS = 100
