import { isObject } from '../core/json.ts'
import { type CallResult, failure, success } from './json-rpc.ts'

/** In bytes; avalanchego checks nothing else. */
const MAX_ALIAS_BYTES = 512

/** The admin API of avalanchego: aliases live in memory and cannot be removed. */
export function createAliases({ routes, chainId }: { readonly routes: readonly string[]; readonly chainId: string }) {
  const targets = new Map<string, string>()
  const chainAliases: string[] = ['C', 'evm']

  function alias(args: Record<string, unknown>) {
    const { endpoint = '', alias: name = '' } = args
    if (typeof endpoint !== 'string' || typeof name !== 'string') return badArgument()
    if (Buffer.byteLength(name) > MAX_ALIAS_BYTES) return failure(-32000, 'alias length is too long')
    if (targets.has(name) || routes.includes(name)) {
      return failure(-32000, `route is either already aliased or already maps to a handle: /ext/${name}`)
    }
    targets.set(name, endpoint)
    return success({})
  }

  function aliasChain(args: Record<string, unknown>) {
    const { chain = '', alias: name = '' } = args
    if (typeof chain !== 'string' || typeof name !== 'string') return badArgument()
    if (Buffer.byteLength(name) > MAX_ALIAS_BYTES) return failure(-32000, 'alias length is too long')
    if (chain !== chainId && !chainAliases.includes(chain)) {
      return failure(-32000, `there is no ID with alias ${chain}`)
    }
    if (chainAliases.includes(name)) return failure(-32000, `${name} is already used as an alias for an ID`)
    chainAliases.push(name)
    targets.set(`bc/${name}`, 'bc/C')
    return success({})
  }

  return {
    call(method: string, params: unknown): CallResult {
      const args = isObject(params) ? params : Array.isArray(params) && isObject(params[0]) ? params[0] : {}
      switch (method) {
        case 'admin.alias':
          return alias(args)
        case 'admin.aliasChain':
          return aliasChain(args)
        case 'admin.getChainAliases':
          return args.chain === chainId
            ? success({ aliases: [...chainAliases, chainId] })
            : failure(-32000, 'problem parsing chain ID')
      }
      return failure(-32000, `rpc: can't find method "${upperFirst(method)}"`)
    },

    /** Resolves an alias to its path below `/ext/`; any other path is returned unchanged. */
    resolve(path: string): string {
      const known = [...targets].find(([name]) => path === name || path.startsWith(`${name}/`))
      return known === undefined ? path : `${known[1]}${path.slice(known[0].length)}`
    },
  }
}

export const badArgument = () =>
  failure(-32000, "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted.")

/** The method name as avalanchego's codec looks it up, with the first letter in upper case. */
export function upperFirst(method: string): string {
  const [service = '', name = ''] = method.split(/\.(.*)/s)
  return `${service}.${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
