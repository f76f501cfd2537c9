import { writeFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { stringify } from 'yaml'
import { chainNames } from '../chains/chain-names.ts'
import type { Identity } from '../chains/identify.ts'
import { systemClock } from '../clock.ts'
import { NODE_URL_EXPECTED, parseNodeUrl } from '../config/addresses.ts'
import { DERIVED_DEFAULTS, FAMILY_DEFAULTS } from '../config/defaults.ts'
import { secretPartsOf } from '../config/exposed-secrets.ts'
import { configFromObject } from '../config/load.ts'
import type { ConfiguredNetwork } from '../config/resolve.ts'
import { type Family, METACHAIN } from '../core/network.ts'
import { parseDuration } from '../core/time.ts'
import { identifyNode } from '../nodes/identify.ts'
import { printProblems } from './check-config.ts'
import { type CommandIo, EXIT } from './io.ts'
import { probeNetworks } from './probe.ts'

export interface DiscoverOptions {
  readonly urls: readonly string[]
  /** `null` to try all families. */
  readonly family: Family | null
}

/** Finds out which chain answers at the URLs, polls each once, and prints the verdicts and the configuration for them. */
export async function probeUrls(options: DiscoverOptions & { readonly json: boolean }, io: CommandIo): Promise<number> {
  const found = await discover(options, io)
  if (!found.ok) return found.status
  const { networks, configured } = found
  const status = await probeNetworks(configured, { json: options.json }, io)
  if (!options.json) io.out(`\nTo monitor this, add to heartline.yaml:\n\n${yamlOf(withoutKeys(networks)).trimEnd()}`)
  return status
}

/** Writes a first configuration for the nodes at the URLs. Never overwrites a file. */
export async function init(options: DiscoverOptions & { readonly file: string }, io: CommandIo): Promise<number> {
  const { file } = options
  const found = await discover(options, io)
  if (!found.ok) return found.status
  try {
    // A URL may contain a provider's key, so only the owner may read the file.
    writeFileSync(file, `${HEADER}${yamlOf(found.networks)}`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    io.err(`heartline: ${file}: ${exists ? 'exists already, and is never overwritten' : 'cannot be written'}`)
    return exists ? EXIT.usage : EXIT.software
  }
  for (const { title, endpoints } of found.networks) io.out(`${title}: ${endpoints.map(({ name }) => name).join(', ')}`)
  io.out(`${file} is written. Next:`)
  io.out(`  heartline probe -c ${file}    polls each endpoint once`)
  io.out(`  heartline serve -c ${file}    starts the daemon; its page is at http://127.0.0.1:9780/`)
  return EXIT.ok
}

const HEADER = `# docs/configuration.md lists every key. \${NAME} is read from the environment, \${file:PATH} from a file.
`

/** Deadline of the questions of one family. */
const TIMEOUT_MS = 10_000

type Discovered =
  | { readonly ok: true; readonly networks: readonly NetworkBlock[]; readonly configured: readonly ConfiguredNetwork[] }
  | { readonly ok: false; readonly status: number }

async function discover({ urls, family }: DiscoverOptions, io: CommandIo): Promise<Discovered> {
  const parsed = urls.map(parseNodeUrl).filter((url) => url !== undefined)
  if (parsed.length < urls.length) {
    io.err(`heartline: --url: expected ${NODE_URL_EXPECTED}`)
    return { ok: false, status: EXIT.usage }
  }
  const hrefs = parsed.map((url) => new URL(url).href)
  const again = hrefs.findIndex((href, at) => hrefs.indexOf(href) < at)
  if (again !== -1) {
    const first = hrefs.indexOf(hrefs[again] ?? '')
    io.err(`heartline: --url: URL ${again + 1} of ${urls.length} is the same as URL ${first + 1}`)
    return { ok: false, status: EXIT.usage }
  }
  const deps = { clock: systemClock, signal: io.signal, timeoutMs: TIMEOUT_MS }
  const answers = await Promise.all(parsed.map((url) => identifyNode(new URL(url), family, deps)))
  const nodes: DiscoveredNode[] = []
  answers.forEach((answer, at) => {
    if (answer.ok) nodes.push(answer)
    else io.err([`heartline: URL ${at + 1} of ${urls.length}: no chain found`, ...answer.failures].join('\n  '))
  })
  if (nodes.length < answers.length) return { ok: false, status: EXIT.down }
  const networks = networksOf(nodes)
  const loaded = configFromObject({ networks }, '.', {})
  if (loaded.ok) return { ok: true, networks, configured: loaded.config.networks }
  printProblems('--url', loaded.problems, io)
  return { ok: false, status: EXIT.software }
}

interface DiscoveredNode {
  readonly url: URL
  readonly identity: Identity
}

/** A network as the configuration file has it. */
interface NetworkBlock {
  readonly name: string
  readonly title: string
  readonly family: Family
  readonly chain_id?: number
  readonly block_time?: string
  readonly shards?: readonly number[]
  readonly thresholds?: { readonly lag_blocks: number }
  readonly endpoints: readonly EndpointBlock[]
}

interface EndpointBlock {
  readonly name: string
  readonly url: string
  readonly rpc_path?: string
  readonly checks?: readonly string[]
  readonly kind?: 'observer'
  readonly shard?: number
}

/** One network per chain. Plain JSON-RPC of a chain that also has an avalanchego node belongs to that node's network. */
function networksOf(nodes: readonly DiscoveredNode[]): readonly NetworkBlock[] {
  const chains = new Map<string, DiscoveredNode[]>()
  for (const node of nodes) {
    const { family, chain } = node.identity
    const key = family === 'multiversx' ? `multiversx ${chain}` : `evm ${chain}`
    chains.set(key, [...(chains.get(key) ?? []), node])
  }
  return [...chains.values()].map(networkOf)
}

function networkOf(nodes: readonly DiscoveredNode[]): NetworkBlock {
  const identities = nodes.map(({ identity }) => identity)
  const { chain, family } = identities.find((identity) => identity.family === 'avalanche') ?? first(identities)
  const { name, title } = chainNames(family, chain)
  const blockTimeMs = identities.find((identity) => identity.blockTimeMs !== null)?.blockTimeMs ?? null
  const shardCount = identities.find((identity) => identity.shardCount !== null)?.shardCount ?? null
  const usualMs = parseDuration(FAMILY_DEFAULTS[family].blockTime)
  const paceMs = blockTimeMs ?? usualMs ?? Number.POSITIVE_INFINITY
  const counts = { own: 0, provider: 0 }
  return {
    name,
    title,
    family,
    ...(family === 'multiversx' ? {} : { chain_id: Number(chain) }),
    ...(blockTimeMs === null || blockTimeMs === usualMs ? {} : { block_time: `${blockTimeMs / 1000}s` }),
    ...(shardCount === null || shardCount === USUAL_SHARD_COUNT ? {} : { shards: shardsOf(shardCount) }),
    ...(paceMs > FAST_BLOCKS_MS ? {} : { thresholds: { lag_blocks: Math.ceil(USUAL_LAG_MS / paceMs) } }),
    endpoints: nodes.map((node) => {
      const whose = isOwn(node.url) ? 'own' : 'provider'
      return endpointOf(node, `${whose}-${++counts[whose]}`, family)
    }),
  }
}

/** So fast that healthy nodes are further apart than the default of `lag_blocks` while a block reaches them. */
const FAST_BLOCKS_MS = 3000
const USUAL_LAG_MS = 30_000

/** Without the metachain. */
const USUAL_SHARD_COUNT = DERIVED_DEFAULTS.shards.length - 1

function shardsOf(count: number): readonly number[] {
  return [...Array.from({ length: count }, (_, shard) => shard), METACHAIN]
}

function first<T>(items: readonly T[]): T {
  const [item] = items
  if (item === undefined) throw new Error('a network has at least one node')
  return item
}

function endpointOf({ url, identity }: DiscoveredNode, name: string, family: Family): EndpointBlock {
  const { rpcPath, shard } = identity
  const href = url.pathname === '/' && url.search === '' ? url.href.replace(/\/$/, '') : url.href
  return {
    name,
    // The configuration file has $${ for a literal ${.
    url: href.replaceAll('${', '$$${'),
    ...(rpcPath === null || rpcPath === FAMILY_DEFAULTS[family].rpcPath ? {} : { rpc_path: rpcPath }),
    ...(identity.family === family ? {} : { checks: ['head'] }),
    ...(shard === null ? {} : { kind: 'observer', shard }),
  }
}

const PRIVATE = new BlockList()
PRIVATE.addSubnet('127.0.0.0', 8)
PRIVATE.addSubnet('10.0.0.0', 8)
PRIVATE.addSubnet('172.16.0.0', 12)
PRIVATE.addSubnet('192.168.0.0', 16)
PRIVATE.addAddress('::1', 'ipv6')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')

/** Whether the host is this machine or in a private network. A name without a dot is not public. */
function isOwn({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  const version = isIP(host)
  return version === 0 ? !host.includes('.') : PRIVATE.check(host, version === 6 ? 'ipv6' : 'ipv4')
}

/** Replaces a URL that may contain a key by a reference to the environment, because the output may be shared. */
function withoutKeys(networks: readonly NetworkBlock[]): readonly NetworkBlock[] {
  return networks.map((network) => ({
    ...network,
    endpoints: network.endpoints.map((endpoint) => {
      const variable = `${network.name}_${endpoint.name}_url`.replace(/\W/g, '_').toUpperCase()
      return secretPartsOf(endpoint.url).length === 0 ? endpoint : { ...endpoint, url: `\${${variable}}` }
    }),
  }))
}

function yamlOf(networks: readonly NetworkBlock[]): string {
  return stringify({ networks })
}
