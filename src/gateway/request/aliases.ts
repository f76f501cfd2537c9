import type { Clock } from '../../clock.ts'
import type { AdminCall, AdminOutcome, AliasRecord, StaleReason } from '../../core/routing/alias.ts'
import type { Log } from '../../log.ts'
import type { Board } from '../../state/board.ts'
import type { Cancellation } from '../cancellation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Provenance, Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { type AliasTarget, aliasTarget, isOwnPath } from './alias-target.ts'
import type { AliasRoutes, AliasRouteTarget } from './route-target.ts'

/** The book of aliases, and what it takes to keep it true: admin.alias goes through here, and whatever is asked at an alias. */
export interface Aliases extends UpstreamHandler, AliasRoutes {
  /** What an earlier run wrote down. */
  restore(records: readonly AliasRecord[]): void
  /** By network and alias, stale ones too. */
  list(): readonly AliasRecord[]
}

export interface AliasesDeps {
  readonly next: UpstreamHandler
  readonly board: Pick<Board, 'entry'>
  /** Where this endpoint's JSON-RPC goes; `null` where there is no such endpoint any more. */
  readonly rpcPathOf: (network: string, endpoint: string) => string | null
  readonly store: { saveAlias(alias: AliasRecord): void; adminCall(call: AdminCall): void }
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Log
}

interface Wanted {
  readonly endpoint: string
  readonly alias: string
}

const EXT = '/ext/'
/** An alias may stand for another; nobody builds a longer chain than this but by mistake. */
const LONGEST_CHAIN = 8

export function createAliases({ next, board, rpcPathOf, store, clock, log }: AliasesDeps): Aliases {
  const records = new Map<string, AliasRecord>()
  /** Calls for one alias, one after the other. */
  const turns = new Map<string, Promise<unknown>>()
  let calls = 0

  function put(record: AliasRecord): void {
    records.set(keyOf(record.network, record.alias), record)
    store.saveAlias(record)
  }

  /** By the whole path, or by all of it but `/rpc`: longer tails lead nowhere. */
  function find(network: string, path: string): { readonly record: AliasRecord; readonly suffix: '' | '/rpc' } | null {
    const whole = records.get(keyOf(network, path))
    if (whole !== undefined) return { record: whole, suffix: '' }
    const base = path.endsWith('/rpc') ? records.get(keyOf(network, path.slice(0, -4))) : undefined
    return base === undefined ? null : { record: base, suffix: '/rpc' }
  }

  function opens(record: AliasRecord, rpcPath: string): AliasTarget | null {
    let { target } = record
    for (let step = 0; step < LONGEST_CHAIN; step++) {
      const opened = aliasTarget(target, rpcPath)
      if (opened !== null) return opened
      const through = records.get(keyOf(record.network, target))
      if (through === undefined || through.endpoint !== record.endpoint || through.stale !== null) return null
      target = through.target
    }
    return null
  }

  function isAway(network: string, endpoint: string): boolean {
    const conditions = board.entry(network, endpoint)?.health.conditions
    return conditions?.some(({ code }) => code === 'unreachable' || code === 'wrong-network') ?? true
  }

  function resolve(network: string, path: string): AliasRouteTarget | GatewayError {
    const found = isOwnPath(path) ? null : find(network, path)
    if (found === null) return UNKNOWN_ALIAS
    const { record, suffix } = found
    if (record.stale !== null) return STALE[record.stale.reason]
    const { endpoint } = record
    const rpcPath = rpcPathOf(network, endpoint)
    if (rpcPath === null) return AWAY
    const target = opens(record, rpcPath)
    if (target === null || target.suffix !== suffix) return NOT_OPENED
    if (isAway(network, endpoint)) return AWAY
    return { kind: 'alias', surface: target.surface, endpoint, to: { kind: 'path', path: `${EXT}${path}` } }
  }

  /** The node may have restarted a moment ago, and the monitor not have seen it yet. */
  async function askAlias(question: UpstreamRequest): Promise<Reply> {
    const path = question.to.kind === 'path' ? question.to.path.slice(EXT.length) : ''
    const asked = find(question.network, path)?.record
    const reply = await next.handle(question)
    if (asked === undefined) return reply
    const reason = lossIn(asked, reply)
    if (reason !== null) {
      lose(asked, reason)
      return refused(STALE[reason], reply)
    }
    const isGone =
      reply.kind === 'rejected' && (reply.rejection.kind === 'no-endpoint' || reply.rejection.kind === 'all-failed')
    return isGone ? refused(AWAY, reply) : reply
  }

  /** Unless it was made anew while the answer was on its way. */
  function lose(record: AliasRecord, reason: StaleReason): void {
    const { network, alias, endpoint, nodeId } = record
    if (records.get(keyOf(network, alias)) !== record) return
    put({ ...record, stale: { at: clock.now(), reason } })
    log.warn({ network, alias, endpoint, nodeId, reason }, 'an alias is stale')
  }

  /** One call after the other for one alias: the second finds what came of the first. */
  async function askAdmin(question: UpstreamRequest): Promise<Reply> {
    const wanted = JSON.parse(question.canonical) as Wanted
    const key = keyOf(question.network, wanted.alias)
    const before = turns.get(key)
    const turn = (async () => {
      await before
      return makeAlias(question, wanted)
    })()
    turns.set(key, turn)
    try {
      return await turn
    } finally {
      if (turns.get(key) === turn) turns.delete(key)
    }
  }

  async function makeAlias(question: UpstreamRequest, { endpoint: target, alias }: Wanted): Promise<Reply> {
    const { network, caller, operation, deadlineAt } = question
    const named = operation.need.kind === 'endpoint' ? operation.need.endpoint : null
    const known = records.get(keyOf(network, alias)) ?? null
    const audit = (outcome: AdminOutcome, endpoint: string | null, nodeId: string | null) =>
      tellAudit({ network, caller, alias, target, endpoint, nodeId, outcome })

    if (
      known !== null &&
      known.stale === null &&
      known.target === target &&
      (named ?? known.endpoint) === known.endpoint
    ) {
      audit('known', known.endpoint, known.nodeId)
      return { kind: 'result', result: DONE, ...OURS, endpoint: known.endpoint }
    }
    if (clock.monotonic() >= deadlineAt) {
      audit('refused', null, null)
      return { kind: 'rejected', rejection: TOO_LATE, ...OURS }
    }
    const reply = await next.handle({ ...question, operation: placed(operation, known, named), signal: NOBODY_LEAVES })
    const { endpoint, nodeId = null } = reply
    const made = { network, alias, target, caller, at: clock.now(), nodeId }
    const isInForce = reply.kind === 'error' && isConfirmation(known, target, reply)
    if ((reply.kind === 'result' || isInForce) && endpoint !== null) {
      put({ ...made, endpoint, stale: null })
      audit('accepted', endpoint, nodeId)
      return isInForce ? { ...provenanceOf(reply), kind: 'result', result: DONE } : reply
    }
    if (reply.kind !== 'rejected') {
      audit('node-error', endpoint, nodeId)
      return reply
    }
    const isUnknown = reply.rejection.kind === 'outcome-unknown'
    // The same call again will tell: a node that has it says so.
    if (isUnknown && endpoint !== null && (known === null || known.stale !== null)) {
      put({ ...made, endpoint, stale: { at: made.at, reason: 'unconfirmed' } })
    }
    audit(isUnknown ? 'outcome-unknown' : 'refused', endpoint, nodeId)
    return reply
  }

  function tellAudit(call: Omit<AdminCall, 'at' | 'nth'>): void {
    store.adminCall({ ...call, at: clock.now(), nth: ++calls })
    log.info(call, 'admin.alias')
  }

  return {
    handle(question) {
      const { name } = question.operation
      if (name === 'alias') return askAlias(question)
      return name === 'admin.alias' ? askAdmin(question) : next.handle(question)
    },

    resolve,

    restore(saved) {
      for (const record of saved) records.set(keyOf(record.network, record.alias), record)
    },

    list: () => [...records.values()].sort((a, b) => compare(a.network, b.network) || compare(a.alias, b.alias)),
  }
}

/** To the endpoint that is named, else to that which has it or may have it: there its node says what is wrong. */
function placed(
  operation: UpstreamRequest['operation'],
  known: AliasRecord | null,
  named: string | null,
): UpstreamRequest['operation'] {
  const mayHaveIt = known !== null && (known.stale === null || known.stale.reason === 'unconfirmed')
  const endpoint = named ?? (mayHaveIt ? known.endpoint : null)
  return endpoint === null ? operation : { ...operation, need: { kind: 'endpoint', endpoint } }
}

/** The node says that it has such an alias already: the one that it was asked for before, when nobody knew what came of it. */
function isConfirmation(known: AliasRecord | null, target: string, reply: Extract<Reply, { kind: 'error' }>): boolean {
  return (
    known !== null &&
    known.stale !== null &&
    known.target === target &&
    known.endpoint === reply.endpoint &&
    reply.error.includes('already aliased')
  )
}

/** Whether the answer shows that the node has forgotten the alias, or never knew it. */
function lossIn({ nodeId }: AliasRecord, reply: Reply): StaleReason | null {
  const now = reply.nodeId ?? null
  if (nodeId !== null && now !== null && now !== nodeId) return 'other-node'
  return reply.kind === 'rejected' && reply.rejection.kind === 'unknown-route' ? 'lost' : null
}

/** Names of networks hold no blanks. */
function keyOf(network: string, alias: string): string {
  return `${network} ${alias}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function provenanceOf({ endpoint, attempts, cache, degraded, nodeMs, nodeId = null }: Reply): Provenance {
  return { endpoint, attempts, cache, degraded, nodeMs, nodeId }
}

function refused(why: GatewayError, reply: Reply): Reply {
  return { kind: 'rejected', rejection: why, ...provenanceOf(reply) }
}

/** What avalanchego answers. */
const DONE = Buffer.from('{}')
const OURS: Provenance = { endpoint: null, attempts: 0, cache: 'none', degraded: false, nodeMs: 0 }

/** What a node was told to do is waited for, also when its caller is gone: it must be written down. */
const NOBODY_LEAVES: Cancellation = { aborted: false, addEventListener() {}, removeEventListener() {} }

const UNKNOWN_ALIAS = gatewayError('unknown-route', 'unknown route')
const NOT_OPENED = gatewayError('unknown-route', 'the target of this alias has no such route here')
const AWAY = gatewayError('no-endpoint', 'the alias lives on an endpoint that is unavailable')
const TOO_LATE = gatewayError('deadline', 'another call for the same alias took all the time')
const STALE: Readonly<Record<StaleReason, GatewayError>> = {
  lost: gatewayError('unknown-route', 'the alias is stale: its node has restarted and no longer knows it'),
  'other-node': gatewayError('unknown-route', 'the alias is stale: another node answers at its endpoint now'),
  unconfirmed: gatewayError(
    'unknown-route',
    'the alias is unconfirmed: what came of admin.alias is unknown; call it again',
  ),
}
