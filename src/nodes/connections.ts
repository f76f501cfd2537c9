import type { LookupFunction } from 'node:net'
import type { Clock } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { createConnector } from './connect.ts'
import { HttpClient } from './http-client.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** One connection, opened again when it was closed. Whoever has taken it is alone on it. */
export interface Lane {
  readonly client: HttpClient
  /** A new number each time that it was opened; 0 before. */
  connection: number
  /** An answer has come over it since it was opened: the node may be closing it just now. */
  used: boolean
  /** On the monotonic clock. */
  openedAt: number
}

/** The connections that one set of addresses shares: one origin, one trust. */
export interface Connections {
  /**
   * A free lane, or one that becomes free; the last used first, so that those in excess grow old and close. `fresh`: one that
   * has to be opened first, if there may be one more.
   */
  take(give: (lane: Lane) => void, fresh: boolean): void
  /** No longer waiting for a lane. */
  leave(give: (lane: Lane) => void): void
  free(lane: Lane): void
  /** Something went wrong on it: it is cut, and the next in need has a new one. */
  drop(lane: Lane): void
  /** Closes those that nobody uses just now: what they hold is needed elsewhere. */
  closeIdle(): void
  /** There may be more of them now, or fewer. */
  limit(maxConnections: number): void
  readonly tlsNotAfter: UnixMs | null
  /** Nobody will ask for more: what is under way may end, then all are closed. */
  retire(): void
  /** Ends what is under way. */
  close(): void
}

export interface ConnectionsDeps {
  readonly address: NodeAddress
  readonly clock: Pick<Clock, 'monotonic'>
  readonly lookup: LookupFunction | null
  readonly maxConnections: number
  readonly maxAnswerBytes: number
  readonly room: MemoryBudget
  readonly nextNumber: () => number
}

/** Polled often, a connection would live for ever: a name that moved and a certificate that changed are only seen by a new one. */
const OLDEST_MS = 600_000

export function createConnections({
  address,
  clock,
  lookup,
  maxConnections: allowed,
  maxAnswerBytes,
  room,
  nextNumber,
}: ConnectionsDeps): Connections {
  let maxConnections = allowed
  const all = new Set<Lane>()
  const idle: Lane[] = []
  const waiting = new Set<(lane: Lane) => void>()
  let tlsNotAfter: UnixMs | null = null
  let closed = false
  let retired = false

  function createLane(): Lane {
    const connect = createConnector({
      origin: address.origin,
      trust: address.tls,
      lookup,
      onOpening() {
        lane.connection = nextNumber()
        lane.used = false
        lane.openedAt = clock.monotonic()
      },
      onCertificate: (notAfter) => {
        tlsNotAfter = notAfter
      },
    })
    const client = new HttpClient({
      connect,
      maxAnswerBytes,
      room,
      // Nobody needs to open it again before somebody asks.
      onIdleClosed() {
        const at = idle.indexOf(lane)
        if (at === -1) return
        idle.splice(at, 1)
        all.delete(lane)
      },
    })
    const lane: Lane = { client, connection: 0, used: false, openedAt: 0 }
    all.add(lane)
    return lane
  }

  function forget(lane: Lane): void {
    all.delete(lane)
    lane.client.destroy()
  }

  function hand(lane: Lane): void {
    for (const give of waiting) {
      waiting.delete(give)
      give(lane)
      return
    }
    idle.push(lane)
  }

  /** Whoever waits has the room that one lane less, or a higher limit, made. */
  function makeUp(): void {
    if (closed) return
    while (waiting.size > 0 && all.size < maxConnections) hand(createLane())
  }

  function isSpent(lane: Lane): boolean {
    if (retired && waiting.size === 0) return true
    return closed || !lane.client.isOpen || all.size > maxConnections || clock.monotonic() - lane.openedAt > OLDEST_MS
  }

  function drop(lane: Lane): void {
    forget(lane)
    makeUp()
  }

  return {
    take(give, fresh) {
      const lane = fresh && all.size < maxConnections ? undefined : idle.pop()
      if (lane !== undefined) give(lane)
      else if (all.size < maxConnections) give(createLane())
      else waiting.add(give)
    },
    leave: (give) => void waiting.delete(give),
    free(lane) {
      if (isSpent(lane)) drop(lane)
      else hand(lane)
    },
    drop,
    closeIdle() {
      for (const lane of idle.splice(0)) forget(lane)
    },
    limit(next) {
      maxConnections = next
      while (all.size > maxConnections) {
        const lane = idle.shift()
        if (lane === undefined) break
        forget(lane)
      }
      makeUp()
    },
    get tlsNotAfter() {
      return tlsNotAfter
    },
    retire() {
      retired = true
      for (const lane of idle.splice(0)) forget(lane)
    },
    close() {
      closed = true
      for (const lane of all) forget(lane)
      idle.length = 0
    },
  }
}
