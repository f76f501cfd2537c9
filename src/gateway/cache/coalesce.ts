import type { Clock } from '../../clock.ts'
import type { OperationName } from '../../core/routing/operation.ts'
import { shareShortLived } from '../../nodes/buffer-pool.ts'
import { answerHeight, type CallerHeights } from '../caller-heights.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'

export interface CoalescerDeps {
  readonly next: UpstreamHandler
  readonly clock: Pick<Clock, 'monotonic'>
  readonly callerHeights: Pick<CallerHeights, 'get' | 'raise'>
  /** A question was answered with another one's request. */
  readonly onCoalesced?: (network: string, operation: OperationName) => void
  readonly mostFlights?: number
}

/** Requests under way that others may join; beyond it each goes by itself. */
const MOST_FLIGHTS = 4096
/**
 * A map through which thousands pass a second makes itself a new table again and again, and each of the former ones holds the next one,
 * and what was in it, until the whole heap is collected. A map of its own holds none.
 */
const RENEWED_AFTER = 128
/** A key is kept for as long as its request takes: nobody sends the same megabyte twice at a time. */
const MAX_CANONICAL = 4096
/** Followers whose leader failed ask once more, together: whoever that fails for has had its own try. */
const MOST_TRIES = 2

/**
 * Identical reads under way at the same time share one request. The first to ask leads, with its own deadline and its own caller: that
 * one may go away, or its time run out before the others'. So what fails for it fails for nobody else before a try of their own. A
 * follower is given an answer only where that does not undercut a height which its caller was given before.
 */
export function createCoalescer(deps: CoalescerDeps): UpstreamHandler {
  const { next, clock, callerHeights: tips, onCoalesced, mostFlights = MOST_FLIGHTS } = deps
  let flights = new Map<string, Flight>()
  let landed = 0

  function lead(key: string, leader: UpstreamRequest): Promise<Reply> {
    const flight: Flight = { leader, waiting: null }
    flights.set(key, flight)
    const land = (reply: Reply | Promise<never>) => {
      if (flights.get(key) === flight) forget(key)
      flight.leader = null
      if (flight.waiting !== null && !(reply instanceof Promise)) share(reply)
      for (const tell of flight.waiting ?? NOBODY) tell(reply)
      return reply
    }
    return next.handle(leader).then(land, (error: unknown) => land(Promise.reject(error)))
  }

  function forget(key: string): void {
    flights.delete(key)
    if (++landed < Math.max(RENEWED_AFTER, 4 * flights.size)) return
    landed = 0
    flights = new Map(flights)
  }

  async function follow(key: string, question: UpstreamRequest, first: Flight): Promise<Reply> {
    const joinedAt = clock.monotonic()
    let flight = first
    for (let tries = 0; ; ) {
      const { leader } = flight
      const reply = await landing(flight)
      if (reply.kind !== 'rejected' && accepts(question, leader, reply)) {
        onCoalesced?.(question.network, question.operation.name)
        return waited(reply, joinedAt)
      }
      if (reply.kind !== 'rejected' || !isLeadersOwn(reply, leader, question)) tries++
      const isOver = question.signal.aborted || clock.monotonic() >= question.deadlineAt
      if (isOver || (reply.kind === 'rejected' && tries >= MOST_TRIES)) return waited(reply, joinedAt)
      const under = flights.get(key)
      if (under === undefined || under === flight || tries >= MOST_TRIES) {
        return waited(await lead(key, question), joinedAt)
      }
      flight = under
    }
  }

  /** Its caller waited for another time than the leader's, all of it for nodes. */
  function waited(reply: Reply, joinedAt: number): Reply {
    return { ...reply, nodeMs: clock.monotonic() - joinedAt }
  }

  /** Not an answer that is below what this caller knows of; with one that is given, the caller knows of that. */
  function accepts(
    question: UpstreamRequest,
    leader: UpstreamRequest | null,
    reply: Exclude<Reply, { kind: 'rejected' }>,
  ): boolean {
    const told = answerHeight(question, reply)
    if (told === null) return true
    const { caller, network, operation } = question
    const { need } = operation
    const shard = need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
    const known = told.isHead ? tips.get(caller, network, shard, told.tag) : null
    if (known !== null && told.height < known) return false
    // A height that cannot be was not given to the leader either: one lie must not bind everybody.
    const given = leader === null ? null : tips.get(leader.caller, network, shard, told.tag)
    if (given !== null && told.height <= given) tips.raise(caller, network, shard, told.tag, told.height)
    return true
  }

  /**
   * What was asked of the newest block, and does not say of which: its answer is only for those who have seen as much of the chain.
   */
  function markOf({ operation: { name, need }, caller, network }: UpstreamRequest): number | '' {
    return name === 'other' && need.kind === 'latest' ? (tips.get(caller, network, need.shard, 'latest') ?? '') : ''
  }

  return {
    handle(question) {
      const { operation, canonical, call } = question
      if (!operation.isRead || call?.isNotification === true || canonical.length > MAX_CANONICAL) {
        return next.handle(question)
      }
      const key = `${keyOf(question)}${markOf(question)}`
      const under = flights.get(key)
      if (under !== undefined) return follow(key, question, under)
      return flights.size < mostFlights ? lead(key, question) : next.handle(question)
    },
  }
}

/** At an alias every method is called the same, and so are all aliases. */
function keyOf({ network, operation: { name, need }, canonical, to, call }: UpstreamRequest): string {
  const pin = need.kind === 'endpoint' ? need.endpoint : ''
  const at = name === 'alias' && to.kind === 'path' ? `${to.path} ${call?.method ?? ''} ` : ''
  return `${network} ${name} ${pin} ${at}${canonical}`
}

/**
 * Holds nothing of the answer, and of the question only while it is open: what a long-lived map points to, if only for a moment,
 * outlives its moment by a garbage collection, and that cost 7 microseconds a request.
 */
interface Flight {
  leader: UpstreamRequest | null
  waiting: ((reply: Reply | Promise<never>) => void)[] | null
}

const NOBODY: readonly never[] = []

/** The first of several to send it must not take it from the others. */
function share(reply: Reply): void {
  switch (reply.kind) {
    case 'result':
      return shareShortLived(reply.result)
    case 'error':
      return shareShortLived(reply.error)
    case 'rest':
      return shareShortLived(reply.body)
    case 'rejected':
  }
}

function landing(flight: Flight): Promise<Reply> {
  return new Promise((resolve) => {
    flight.waiting ??= []
    flight.waiting.push(resolve)
  })
}

/** The leader's caller left, or its time ran out before this one's: that says nothing of the nodes. */
function isLeadersOwn(
  reply: Extract<Reply, { kind: 'rejected' }>,
  leader: UpstreamRequest | null,
  question: UpstreamRequest,
): boolean {
  if (leader === null) return false
  return leader.signal.aborted || (reply.rejection.kind === 'deadline' && leader.deadlineAt < question.deadlineAt)
}
