import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import { type OperationName, shardOf } from '../../core/routing/operation.ts'
import {
  answerHeight,
  type CallerHeights,
  lowestAllowed,
  missingTag,
  raiseByRepeat,
  readsBlock,
  readsLogs,
} from '../caller-heights.ts'
import { BEHIND_CALLER } from '../errors.ts'
import {
  chainOperationOf,
  NOT_FORWARDED,
  type Reply,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../upstream-request.ts'

/**
 * Lets identical reads in flight share one request. The first request leads; if it is cancelled or times out, the
 * followers retry. A follower accepts the answer only if it is not below a height that its caller has seen.
 */
export function createCoalescer(deps: CoalescerDeps): UpstreamHandler {
  const { next, clock, callerHeights, isQueueing, onCoalesced, maxFlights = MAX_FLIGHTS } = deps
  const flights = new Map<string, { flight: Flight | undefined }>()

  function lead(key: string, leader: UpstreamRequest): Promise<Reply> {
    const reply = next.handle(leader)
    const entry: { flight: Flight | undefined } = { flight: { leader, reply } }
    const land = () => {
      if (flights.get(key) === entry) flights.delete(key)
      // Tables that the map has replaced would keep the answer until V8 collects the whole heap (bench/README.md).
      entry.flight = undefined
    }
    flights.set(key, entry)
    // Not `finally`, which would delay the reply by three more promises.
    void reply.then(land, land)
    return reply
  }

  async function follow(key: string, request: UpstreamRequest, first: Flight): Promise<Reply> {
    const joinedAt = clock.monotonic()
    let flight = first
    for (let tries = 0; ; ) {
      const { leader } = flight
      const reply = await flight.reply
      if (reply.kind !== 'rejected' && accepts(request, leader, reply)) {
        onCoalesced?.(request.network, request.operation.name)
        return { ...withWait(reply, joinedAt), isShared: true }
      }
      if (reply.kind !== 'rejected' || !isLeadersOwn(reply, leader, request)) tries++
      const isOver = request.signal.aborted || clock.monotonic() >= request.deadlineAt
      if (isOver && reply.kind !== 'rejected') return withWait({ ...NOT_ACCEPTED, attempts: reply.attempts }, joinedAt)
      if (isOver || (reply.kind === 'rejected' && tries >= MAX_TRIES)) return withWait(reply, joinedAt)
      const other = flights.get(key)?.flight
      if (other === undefined || other === flight || tries >= MAX_TRIES) {
        return withWait(await lead(key, request), joinedAt)
      }
      if (!mayFollow(request, other.leader)) return withWait(await next.handle(request), joinedAt)
      flight = other
    }
  }

  /** Replaces the leader's waiting time with the follower's, all of which was spent waiting for nodes. */
  function withWait(reply: Reply, joinedAt: number): Reply {
    return { ...reply, nodeMs: clock.monotonic() - joinedAt }
  }

  /** Whether the answer may be shown to this caller; if so, its height counts as seen. */
  function accepts(
    request: UpstreamRequest,
    leader: UpstreamRequest,
    reply: Exclude<Reply, { kind: 'rejected' }>,
  ): boolean {
    const shown = answerHeight(request, reply)
    const { caller, network } = request
    const { need } = chainOperationOf(request)
    const shard = shardOf(need)
    if (shown === null) {
      // For a leader that has not seen the block, no other endpoint was tried.
      if (need.kind === 'height' && hasSeen(request, need) && !hasSeen(leader, need)) return false
      if (missingTag(callerHeights, request, shard, reply) !== null) return false
      // Not all that the leader has seen by now, because that may be a block of another answer.
      const seen = reply.stateHeight ?? null
      if (seen !== null) raiseByRepeat(callerHeights, request, shard, 'latest', seen)
      return true
    }
    const seen = shown.isHead ? lowestAllowed(callerHeights, request, shard, shown.tag) : null
    if (seen !== null && shown.height < seen) return false
    // Heights not recorded for the leader were implausible; one false claim must not affect every caller.
    const seenByLeader = callerHeights.get(leader.caller, network, shard, shown.tag)
    if (seenByLeader === null || shown.height > seenByLeader) return true
    if (typeof reply.staleMs === 'number') raiseByRepeat(callerHeights, request, shard, shown.tag, shown.height)
    else callerHeights.raise(caller, network, shard, shown.tag, shown.height)
    return true
  }

  function hasSeen(request: UpstreamRequest, { shard, height }: { readonly shard: Shard; readonly height: number }) {
    return height <= (lowestAllowed(callerHeights, request, shard, 'latest') ?? -1)
  }

  /** The lowest block that the caller may be shown, or that it may not miss, nor its logs; `null` for any. */
  function lowestOf(request: UpstreamRequest): number | null {
    const { need } = chainOperationOf(request)
    if (need.kind === 'height') {
      return (readsLogs(request) || readsBlock(request)) && hasSeen(request, need) ? need.height : null
    }
    return need.kind === 'latest' ? lowestAllowed(callerHeights, request, need.shard, 'latest') : null
  }

  /**
   * Not if the leader may wait for longer than this caller has to: until a later deadline, in its own caller's queue for a
   * connection, or for a block that this caller does not need.
   */
  function mayFollow(request: UpstreamRequest, leader: UpstreamRequest): boolean {
    if (leader.deadlineAt > request.deadlineAt) return false
    if (leader.share !== request.share && isQueueing?.(leader) === true) return false
    const awaited = lowestOf(leader)
    return awaited === null || awaited <= (lowestOf(request) ?? -1)
  }

  /** `null` if the request may not follow the leader under this key. */
  function join(key: string, request: UpstreamRequest): Promise<Reply> | null {
    const flight = flights.get(key)?.flight
    if (flight !== undefined) return mayFollow(request, flight.leader) ? follow(key, request, flight) : null
    return flights.size < maxFlights ? lead(key, request) : next.handle(request)
  }

  return {
    handle(request) {
      const { operation, canonical, call } = request
      if (!operation.isRead || call?.isNotification === true || canonical.length > MAX_CANONICAL) {
        return next.handle(request)
      }
      // An answer that does not show its block is shared only by callers that have seen the same height.
      const key =
        chainOperationOf(request).name === 'other' ? `${keyOf(request)}${lowestOf(request) ?? ''}` : keyOf(request)
      return (
        join(key, request) ??
        join(`${key} ${lowestOf(request) ?? ''} ${request.share ?? ''}`, request) ??
        next.handle(request)
      )
    },
  }
}

export interface CoalescerDeps {
  readonly next: UpstreamHandler
  readonly clock: Pick<Clock, 'monotonic'>
  readonly callerHeights: Pick<CallerHeights, 'get' | 'raise'>
  /** Whether requests of the same caller to the same network wait for a connection. */
  readonly isQueueing?: (request: UpstreamRequest) => boolean
  /** Called when a request is answered with the reply to another one. */
  readonly onCoalesced?: (network: string, operation: OperationName) => void
  readonly maxFlights?: number
}

interface Flight {
  readonly leader: UpstreamRequest
  readonly reply: Promise<Reply>
}

/** Requests to aliases share operation and canonical text, so the key includes their path and method. */
function keyOf({ network, operation: { name, need }, canonical, to, call }: UpstreamRequest): string {
  const pin = need.kind === 'endpoint' ? need.endpoint : ''
  const at = name === 'alias' && to.kind === 'path' ? `${to.path} ${call?.method ?? ''} ` : ''
  return `${network} ${name} ${pin} ${at}${canonical}`
}

/** Whether the leader failed because it was cancelled or had less time, which says nothing about the nodes. */
function isLeadersOwn(
  reply: Extract<Reply, { kind: 'rejected' }>,
  leader: UpstreamRequest,
  request: UpstreamRequest,
): boolean {
  return leader.signal.aborted || (reply.rejection.kind === 'deadline' && leader.deadlineAt < request.deadlineAt)
}

/** To a follower that has seen a higher block and has no time left for a request of its own. */
const NOT_ACCEPTED: Reply = { ...NOT_FORWARDED, kind: 'rejected', rejection: BEHIND_CALLER }

/** Beyond this, further requests are not shared. */
const MAX_FLIGHTS = 4096
/** Longer requests are hardly ever identical, and not worth a key. */
const MAX_CANONICAL = 4096
/** After a leader fails, the followers retry once together. */
const MAX_TRIES = 2
