import type { Clock } from '../../clock.ts'
import type { AdminCall, AliasRecord, StaleReason } from '../../core/routing/alias.ts'
import type { Log } from '../../log.ts'
import type { Board } from '../../state/board.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { createAliasMaker, rejectedAfter } from './admin-alias.ts'
import { type AliasRoutes, type RouteTarget, type Surface, UNKNOWN_ROUTE } from './route.ts'

/**
 * The aliases that admin.alias created, each in the memory of one node. Requests to an alias go to that endpoint only,
 * and their replies are checked for signs that the node lost the alias.
 */
export interface Aliases extends UpstreamHandler, AliasRoutes {
  /** Loads records that the store has: those of an earlier run, or of another daemon. */
  restore(records: readonly AliasRecord[]): void
  /** Sorted by network and alias; includes stale aliases. */
  list(): readonly AliasRecord[]
}

export interface AliasesDeps {
  readonly next: UpstreamHandler
  readonly board: Pick<Board, 'entry'>
  /** `null` if the endpoint no longer exists. */
  readonly rpcPathOf: (network: string, endpoint: string) => string | null
  readonly store: { saveAlias(alias: AliasRecord): void; adminCall(call: AdminCall): void }
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Log
}

const EXT = '/ext/'
/** Far more than the chains and subnets of all nodes. */
const MAX_ALIASES = 1000

export function createAliases({ next, board, rpcPathOf, store, clock, log }: AliasesDeps): Aliases {
  const records = new Map<string, AliasRecord>()
  const get = (network: string, alias: string) => records.get(keyOf(network, alias))
  const staleKey = () => [...records].find(([, { stale }]) => stale !== null)?.[0]
  const hasRoom = () => records.size < MAX_ALIASES || staleKey() !== undefined
  const maker = createAliasMaker({ next, get, put, hasRoom, store, clock, log })

  /** At the limit, a new alias replaces a stale one: not before the node has created it. */
  function put(record: AliasRecord): void {
    const key = keyOf(record.network, record.alias)
    if (records.size >= MAX_ALIASES && !records.has(key)) records.delete(staleKey() ?? '')
    records.set(key, record)
    store.saveAlias(record)
  }

  /** Looks up the whole path, then the path without a final `/rpc`. */
  function find(network: string, path: string): { readonly record: AliasRecord; readonly suffix: '' | '/rpc' } | null {
    const whole = get(network, path)
    if (whole !== undefined) return { record: whole, suffix: '' }
    const base = path.endsWith('/rpc') ? get(network, path.slice(0, -4)) : undefined
    return base === undefined ? null : { record: base, suffix: '/rpc' }
  }

  /** Resolves the alias, also through other aliases of the same node. */
  function opened({ network, endpoint, target: first }: AliasRecord, rpcPath: string): OpenedTarget | null {
    let target = first
    for (let step = 0; step < MAX_CHAIN; step++) {
      const found = openedTarget(target, rpcPath)
      if (found !== null) return found
      const through = get(network, target)
      if (through === undefined || through.endpoint !== endpoint || through.stale !== null) return null
      target = through.target
    }
    return null
  }

  function isAway(network: string, endpoint: string): boolean {
    const conditions = board.entry(network, endpoint)?.health.conditions
    return conditions?.some(({ code }) => code === 'unreachable' || code === 'wrong-network') ?? true
  }

  function resolve(network: string, path: string): RouteTarget | GatewayError {
    const found = isOwnPath(path) ? null : find(network, path)
    if (found === null) return UNKNOWN_ROUTE
    const { record, suffix } = found
    if (record.stale !== null) return STALE[record.stale.reason]
    const { endpoint } = record
    const rpcPath = rpcPathOf(network, endpoint)
    if (rpcPath === null) return AWAY
    const target = opened(record, rpcPath)
    if (target === null || target.suffix !== suffix) return NOT_OPENED
    if (isAway(network, endpoint)) return AWAY
    return { kind: 'alias', surface: target.surface, endpoint, to: { kind: 'path', path: `${EXT}${path}` } }
  }

  /** Checks the reply, because the node may have restarted without the monitor noticing. */
  async function forwardToAlias(request: UpstreamRequest): Promise<Reply> {
    const path = request.to.kind === 'path' ? request.to.path.slice(EXT.length) : ''
    const record = find(request.network, path)?.record
    const reply = await next.handle(request)
    if (record === undefined) return reply
    const reason = lossIn(record, reply)
    if (reason !== null) {
      markStale(record, reason)
      return rejectedAfter(reply, STALE[reason])
    }
    const isGone =
      reply.kind === 'rejected' && (reply.rejection.kind === 'no-endpoint' || reply.rejection.kind === 'all-failed')
    return isGone ? rejectedAfter(reply, AWAY) : reply
  }

  function markStale(record: AliasRecord, reason: StaleReason): void {
    const { network, alias, endpoint, nodeId } = record
    // The alias was created again in the meantime.
    if (get(network, alias) !== record) return
    put({ ...record, stale: { at: clock.now(), reason } })
    log.warn({ network, alias, endpoint, nodeId, reason }, 'an alias is stale')
  }

  return {
    handle(request) {
      const { name } = request.operation
      if (name === 'alias') return forwardToAlias(request)
      return name === 'admin.alias' ? maker.make(request) : next.handle(request)
    },

    resolve,

    restore(saved) {
      for (const record of saved.slice(-MAX_ALIASES)) records.set(keyOf(record.network, record.alias), record)
    },

    list: () => [...records.values()].sort((a, b) => compare(a.network, b.network) || compare(a.alias, b.alias)),
  }
}

/** Longer chains of aliases are mistakes. */
const MAX_CHAIN = 8

/** The part of a node's API that an alias opens. `suffix` must follow the alias. */
interface OpenedTarget {
  readonly surface: Exclude<Surface, 'admin'>
  readonly suffix: '' | '/rpc'
}

/** The names of the C-Chain below `/ext/` (avalanchego, genesis/aliases.go), and its ids on mainnet and Fuji. */
const C_CHAIN: ReadonlySet<string> = new Set([
  'bc/C',
  'bc/evm',
  'bc/2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'bc/yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
])
const CHAIN_PATH = /^\/ext\/(.+)\/rpc$/

/** `null` for everything except health and the network's chain, in particular for admin APIs and `/ws`. */
function openedTarget(target: string, rpcPath: string): OpenedTarget | null {
  if (target === 'health') return { surface: 'health', suffix: '' }
  if (isChain(target, rpcPath)) return { surface: 'chain', suffix: '/rpc' }
  return target.endsWith('/rpc') && isChain(target.slice(0, -4), rpcPath) ? { surface: 'chain', suffix: '' } : null
}

/** Whether `name` is the chain whose JSON-RPC the endpoint serves. */
function isChain(name: string, rpcPath: string): boolean {
  const [, own = 'bc/C'] = CHAIN_PATH.exec(rpcPath) ?? []
  return name === own || (C_CHAIN.has(own) && C_CHAIN.has(name))
}

const OWN_PATH = /^(?:admin|auth|health|index|info|ipcs|keystore|metrics|vm)(?:\/|$)|(?:^|\/)(?:admin|ws)(?:\/|$)/

/** Whether the path belongs to the node's own APIs, which are never looked up as aliases. */
export function isOwnPath(path: string): boolean {
  return OWN_PATH.test(path)
}

/** Whether the answer shows that the node lost the alias. */
function lossIn({ nodeId }: AliasRecord, reply: Reply): StaleReason | null {
  const answering = reply.nodeId ?? null
  if (nodeId !== null && answering !== null && answering !== nodeId) return 'other-node'
  return reply.kind === 'rejected' && reply.rejection.kind === 'unknown-route' ? 'lost' : null
}

/** Unambiguous, because network names contain no spaces. */
function keyOf(network: string, alias: string): string {
  return `${network} ${alias}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

const NOT_OPENED = gatewayError('unknown-route', 'this alias has no such route')
const AWAY = gatewayError('no-endpoint', 'the endpoint of this alias is unavailable')
const STALE: Readonly<Record<StaleReason, GatewayError>> = {
  lost: gatewayError('unknown-route', 'the alias is stale: its node has restarted and no longer knows it'),
  'other-node': gatewayError('unknown-route', 'the alias is stale: another node now answers at its endpoint'),
  unconfirmed: gatewayError(
    'unknown-route',
    'the alias is unconfirmed: the outcome of admin.alias is unknown, call it again',
  ),
}
