import type { Surface } from './route.ts'

/** What an alias opens, by what it stands for; `suffix` is what must follow the alias. */
export interface AliasTarget {
  readonly surface: Exclude<Surface, 'admin'>
  readonly suffix: '' | '/rpc'
}

/** How avalanchego calls the C-Chain, below `/ext/` (genesis/aliases.go): by its names, and by its ids on mainnet and Fuji. */
const C_CHAIN: ReadonlySet<string> = new Set([
  'bc/C',
  'bc/evm',
  'bc/2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'bc/yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
])
const CHAIN_PATH = /^\/ext\/(.+)\/rpc$/

/**
 * The gateway's own routes, by another name: a node's health, and the chain that its network is. Through an alias of anything else
 * nothing is reached: not the admin API, nor that of the C-Chain, nor its `/ws`.
 */
export function aliasTarget(target: string, rpcPath: string): AliasTarget | null {
  if (target === 'health') return { surface: 'health', suffix: '' }
  if (isChain(target, rpcPath)) return { surface: 'chain', suffix: '/rpc' }
  return target.endsWith('/rpc') && isChain(target.slice(0, -4), rpcPath) ? { surface: 'chain', suffix: '' } : null
}

/** Of an endpoint whose JSON-RPC is that of another chain, it is that other chain. */
function isChain(name: string, rpcPath: string): boolean {
  const [, own = 'bc/C'] = CHAIN_PATH.exec(rpcPath) ?? []
  return name === own || (C_CHAIN.has(own) && C_CHAIN.has(name))
}

/** Where a node has something of its own, no alias is looked for, whatever it once answered. */
const OWN_PATH = /^(?:admin|auth|health|index|info|ipcs|keystore|metrics|vm)(?:\/|$)|(?:^|\/)(?:admin|ws)(?:\/|$)/

export function isOwnPath(path: string): boolean {
  return OWN_PATH.test(path)
}
