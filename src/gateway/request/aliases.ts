import type { AliasRecord, StaleReason } from '../../core/routing/alias.ts'
import type { Board } from '../../state/board.ts'
import { BEHIND_CALLER, type GatewayError, gatewayError } from '../errors.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { type AliasMakerDeps, createAliasMaker, rejectedAfter } from './admin-alias.ts'
import { type AliasRoutes, type RouteTarget, UNKNOWN_ROUTE } from './route.ts'

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

export interface AliasesDeps extends Pick<AliasMakerDeps, 'next' | 'clock' | 'log'> {
  readonly board: Pick<Board, 'entry'>
  /** `null` if the endpoint no longer exists. */
  readonly rpcPathOf: (network: string, endpoint: string) => string | null
  readonly store: AliasMakerDeps['store'] & { saveAlias(alias: AliasRecord): void }
}

/** avalanchego's limit for aliases (`maxAliasLength`), and ours for their targets. */
export const MAX_PATH_BYTES = 512
const EXT = '/ext/'
/** Far more than the chains and subnets of all nodes. */
const MAX_ALIASES = 1000

export function createAliases({ next, board, rpcPathOf, store, clock, log }: AliasesDeps): Aliases {
  const records = new Map<string, AliasRecord>()
  const get = (network: string, alias: string) => records.get(keyOf(network, alias))
  const staleKey = () => [...records].find(([, { stale }]) => stale !== null)?.[0]
  const hasRoom = () => records.size < MAX_ALIASES || staleKey() !== undefined
  /** Answered 404, perhaps by a proxy, or because another chain, whose routes are unknown, has no such path. */
  const doubted = new WeakSet<AliasRecord>()
  const isDoubted = (record: AliasRecord) => doubted.has(record)
  const maker = createAliasMaker({ next, get, put, hasRoom, isDoubted, store, clock, log })

  /** At the limit, a new alias replaces a stale one: not before the node has created it. */
  function put(record: AliasRecord): void {
    const key = keyOf(record.network, record.alias)
    if (records.size >= MAX_ALIASES && !records.has(key)) records.delete(staleKey() ?? '')
    records.set(key, record)
    store.saveAlias(record)
  }

  /** The alias that the path is or begins with, the longest first, and what follows it. */
  function find(network: string, path: string): { readonly record: AliasRecord; readonly suffix: string } | null {
    let end = path.length <= MAX_PATH_BYTES ? path.length : path.lastIndexOf('/', MAX_PATH_BYTES)
    for (; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const record = get(network, path.slice(0, end))
      if (record !== undefined) return { record, suffix: path.slice(end) }
    }
    return null
  }

  /** What the path opens at the node of `record`, also through other aliases of that node. */
  function surfaceAt({ network, endpoint, target }: AliasRecord, suffix: string, rpcPath: string) {
    let path = target + suffix
    for (let step = 0; step < MAX_CHAIN; step++) {
      if (isOwnPath(path)) return path === 'health' ? 'health' : null
      if (isOwnChain(path, rpcPath)) return 'chain'
      const through = find(network, path)
      if (through === null) return 'other-chain'
      if (through.record.endpoint !== endpoint || through.record.stale !== null) return null
      path = through.record.target + through.suffix
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
    const surface = surfaceAt(record, suffix, rpcPath)
    if (surface === null) return NOT_OPENED
    if (isAway(network, endpoint)) return AWAY
    return { kind: 'alias', surface, endpoint, to: { kind: 'path', path: `${EXT}${path}` } }
  }

  /**
   * Checks the reply, because the node may have restarted without the monitor noticing. If the alias was moved since the
   * request was routed, the reply says nothing about it.
   */
  async function forwardToAlias(request: UpstreamRequest): Promise<Reply> {
    const path = request.to.kind === 'path' ? request.to.path.slice(EXT.length) : ''
    const found = find(request.network, path)
    const reply = await next.handle(request)
    if (found === null || !isPinnedTo(request, found.record.endpoint)) return reply
    const { record, suffix } = found
    const rpcPath = rpcPathOf(record.network, record.endpoint) ?? ''
    const reason = lossIn(record, reply)
    const isUnsigned = record.nodeId !== null && (reply.nodeId ?? null) === null
    if (reason === 'lost' && (isUnsigned || surfaceAt(record, suffix, rpcPath) === 'other-chain')) doubted.add(record)
    else if (reason !== null) {
      markStale(record, reason)
      return rejectedAfter(reply, STALE[reason])
    } else if (reply.kind !== 'rejected') doubted.delete(record)
    if (reply.kind !== 'rejected' || reply.rejection === BEHIND_CALLER) return reply
    const isGone = reply.rejection.kind === 'no-endpoint' || reply.rejection.kind === 'all-failed'
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
      for (const record of saved.slice(-MAX_ALIASES)) {
        const known = get(record.network, record.alias)
        if (known === undefined || known.at <= record.at) records.set(keyOf(record.network, record.alias), record)
      }
    },

    list: () => [...records.values()].sort((a, b) => compare(a.network, b.network) || compare(a.alias, b.alias)),
  }
}

/** Longer chains of aliases are mistakes. */
const MAX_CHAIN = 8

/** The names of the C-Chain below `/ext/` (avalanchego, genesis/aliases.go), and its ids on mainnet and Fuji. */
const C_CHAIN: ReadonlySet<string> = new Set([
  'bc/C',
  'bc/evm',
  'bc/2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'bc/yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
])
const CHAIN_PATH = /^\/ext\/(.+)\/rpc$/

/** Whether `path` is the JSON-RPC of the network's chain at the endpoint. */
function isOwnChain(path: string, rpcPath: string): boolean {
  const [, own = 'bc/C'] = CHAIN_PATH.exec(rpcPath) ?? []
  if (!path.endsWith('/rpc')) return false
  const name = path.slice(0, -'/rpc'.length)
  return name === own || (C_CHAIN.has(own) && C_CHAIN.has(name))
}

const OWN_PATH =
  /^(?:admin|auth|health|index|info|ipcs|keystore|metrics|vm)(?:\/|$)|(?:^|\/)(?:admin|events|keystore|wallet|ws)(?:\/|$)/

/** Whether the path is one of the node's own APIs, a wallet or a WebSocket: they are never looked up as aliases. */
export function isOwnPath(path: string): boolean {
  return OWN_PATH.test(path)
}

/** Whether the answer shows that the node lost the alias. */
function lossIn({ nodeId }: AliasRecord, reply: Reply): StaleReason | null {
  const answering = reply.nodeId ?? null
  if (nodeId !== null && answering !== null && answering !== nodeId) return 'other-node'
  return reply.kind === 'rejected' && reply.rejection.kind === 'unknown-route' ? 'lost' : null
}

function isPinnedTo({ operation: { need } }: UpstreamRequest, endpoint: string): boolean {
  return need.kind === 'endpoint' && need.endpoint === endpoint
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
