import { type Clock, within } from '../../clock.ts'
import type { AdminCall, AdminOutcome, AliasRecord } from '../../core/routing/alias.ts'
import type { Log } from '../../log.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import {
  Cancellation,
  NOT_FORWARDED,
  type Provenance,
  type Reply,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../upstream-request.ts'

export interface AliasMakerDeps {
  readonly next: UpstreamHandler
  readonly get: (network: string, alias: string) => AliasRecord | undefined
  readonly put: (record: AliasRecord) => void
  /** Whether the limit of aliases allows one more. */
  readonly hasRoom: () => boolean
  /** Whether its node may have lost it. */
  readonly isDoubted: (record: AliasRecord) => boolean
  readonly store: { adminCall(call: AdminCall): void; flush(): Promise<void> }
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>
  readonly log: Log
}

/** The canonical params of `admin.alias`. */
interface AliasParams {
  readonly endpoint: string
  readonly alias: string
}

/** Creates aliases: sends each `admin.alias` once, to one node, and audits all calls. */
export function createAliasMaker({ next, get, put, hasRoom, isDoubted, store, clock, log }: AliasMakerDeps) {
  /** The last call for each alias. */
  const lastCalls = new Map<string, Promise<unknown>>()
  let calls = 0

  function audit(call: Omit<AdminCall, 'at' | 'nth'>): void {
    store.adminCall({ ...call, at: clock.now(), nth: ++calls })
    log.info(call, 'admin.alias')
  }

  async function makeInTurn(request: UpstreamRequest, { endpoint: target, alias }: AliasParams): Promise<Reply> {
    const { network, caller, operation, deadlineAt } = request
    const named = operation.need.kind === 'endpoint' ? operation.need.endpoint : null
    const known = get(network, alias) ?? null
    const ended = (outcome: AdminOutcome, endpoint: string | null, nodeId: string | null) =>
      audit({ network, caller, alias, target, endpoint, nodeId, outcome })

    const isSure = known !== null && known.stale === null && !isDoubted(known)
    if (isSure && known.target === target && (named ?? known.endpoint) === known.endpoint) {
      ended('known', known.endpoint, known.nodeId)
      return { kind: 'result', result: DONE, ...NOT_FORWARDED, endpoint: known.endpoint }
    }
    const rejection = clock.monotonic() >= deadlineAt ? TOO_LATE : known === null && !hasRoom() ? TOO_MANY : null
    if (rejection !== null) {
      ended('refused', null, null)
      return { kind: 'rejected', rejection, ...NOT_FORWARDED }
    }
    // Not cancelled if the caller leaves, because the outcome must be recorded.
    const reply = await next.handle({
      ...request,
      operation: pinned(operation, known, named),
      signal: new Cancellation(),
    })
    const { endpoint, nodeId = null } = reply
    const record = { network, alias, target, caller, at: clock.now(), nodeId }
    const isConfirmed = reply.kind === 'error' && !isSure && confirms(known, target, reply)
    if ((reply.kind === 'result' || isConfirmed) && endpoint !== null) {
      put({ ...record, endpoint, stale: null })
      ended('accepted', endpoint, nodeId)
      return isConfirmed ? { ...provenanceOf(reply), kind: 'result', result: DONE } : reply
    }
    if (reply.kind !== 'rejected') {
      ended('node-error', endpoint, nodeId)
      return reply
    }
    const isUnknown = reply.rejection.kind === 'outcome-unknown'
    // Recorded so that a repeated call reveals the outcome: a node that already has the alias reports it.
    if (isUnknown && endpoint !== null && (known === null || known.stale !== null)) {
      put({ ...record, endpoint, stale: { at: record.at, reason: 'unconfirmed' } })
    }
    ended(isUnknown ? 'outcome-unknown' : 'refused', endpoint, nodeId)
    return reply
  }

  return {
    /** Runs calls for the same alias in sequence, so that the second finds the result of the first. */
    async make(request: UpstreamRequest): Promise<Reply> {
      const params = JSON.parse(request.canonical) as AliasParams
      const key = `${request.network} ${params.alias}`
      const previous = lastCalls.get(key)
      const call = (async () => {
        await previous
        return makeInTurn(request, params)
      })()
      lastCalls.set(key, call)
      try {
        const reply = await call
        // After a crash, Heartline must know what it said that the node has: the node cannot tell the alias's target.
        await within(clock, STORED_WITHIN_MS, store.flush())
        return reply
      } finally {
        if (lastCalls.get(key) === call) lastCalls.delete(key)
      }
    },
  }
}

/** Pins the call to the named endpoint, else to one that may have the alias, so that its node reports a conflict. */
function pinned(
  operation: UpstreamRequest['operation'],
  known: AliasRecord | null,
  named: string | null,
): UpstreamRequest['operation'] {
  const mayHaveIt = known !== null && (known.stale === null || known.stale.reason === 'unconfirmed')
  const endpoint = named ?? (mayHaveIt ? known.endpoint : null)
  return endpoint === null ? operation : { ...operation, need: { kind: 'endpoint', endpoint } }
}

/** Whether the node's error proves that an earlier call succeeded. */
function confirms(known: AliasRecord | null, target: string, reply: Extract<Reply, { kind: 'error' }>): boolean {
  return (
    known !== null &&
    known.target === target &&
    known.endpoint === reply.endpoint &&
    reply.error.includes('already aliased')
  )
}

function provenanceOf({ endpoint, attempts, cache, degraded, nodeMs, nodeId = null }: Reply): Provenance {
  return { endpoint, attempts, cache, degraded, nodeMs, nodeId }
}

/** Replaces a reply with a gateway error and keeps its provenance. */
export function rejectedAfter(reply: Reply, rejection: GatewayError): Reply {
  return { kind: 'rejected', rejection, ...provenanceOf(reply) }
}

/** A disk that hangs must not keep the answer back. */
const STORED_WITHIN_MS = 1000
/** avalanchego's result. */
const DONE = Buffer.from('{}')
const TOO_MANY = gatewayError('forbidden', 'the limit of aliases is reached')
const TOO_LATE = gatewayError('deadline', 'timed out while waiting for an earlier admin.alias call for the same alias')
