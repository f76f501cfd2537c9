import { parseDuration } from '../core/time.ts'
import { endsWithChainPath, isHttps } from './addresses.ts'
import { DERIVED_DEFAULTS, THRESHOLDS } from './defaults.ts'
import type { Path } from './problem.ts'
import { type Report, unique, uniqueBy } from './rule-report.ts'
import type { Draft } from './salvage.ts'
import type { ConfigFile } from './schema.ts'

export type NetworkDraft = NonNullable<NonNullable<Draft<ConfigFile>['networks']>[number]>
type EndpointDraft = NonNullable<NonNullable<NetworkDraft['endpoints']>[number]>

/** The rules of a network and its endpoints. */
export function networkRules(network: NetworkDraft, path: Path, report: Report): void {
  const { family, endpoints = [], shards = [] } = network
  uniqueBy('name', endpoints, [...path, 'endpoints'], report)
  unique(shards, (at) => [...path, 'shards', at], report)
  thresholdRules(network, [...path, 'thresholds'], report)
  effectRules(network, path, report)
  if (family !== undefined && family !== 'multiversx' && network.shards !== undefined) {
    report.complain([...path, 'shards'], 'only multiversx has shards')
  }
  if (family === 'multiversx' && network.chain_id !== undefined) {
    report.complain([...path, 'chain_id'], 'multiversx has no numeric chain id')
  }
  endpoints.forEach((endpoint, at) => {
    if (endpoint === undefined) return
    endpointRules(endpoint, network, [...path, 'endpoints', at], report)
    if (endpoint.tls?.ca !== undefined && ![endpoint.url, endpoint.beacon_url].some(isHttps)) {
      report.warn([...path, 'endpoints', at, 'tls', 'ca'], 'has no effect, because the URL is not https')
    }
    if (endpoint.tls?.insecure === true) {
      report.warn([...path, 'endpoints', at, 'tls', 'insecure'], 'any certificate is accepted: answers can be forged')
    }
  })
}

/** A healthy node may have a block this much later than another one. */
const PROPAGATION_MS = 2000

function thresholdRules(network: NetworkDraft, path: Path, { complain, warn }: Report): void {
  const { block_time: blockTime, thresholds } = network
  const { stall, lag_blocks: lag, lag_recover_blocks: recover, lag_blocks_down: down } = thresholds ?? {}
  if (stall !== undefined && blockTime !== undefined && stall <= blockTime)
    warn([...path, 'stall'], 'is not longer than block_time: a healthy chain counts as halted between two blocks')
  if (lag === undefined) return
  if (blockTime !== undefined && lag * blockTime < PROPAGATION_MS)
    warn(
      [...path, 'lag_blocks'],
      `is ${(lag * blockTime) / 1000} s of blocks: a healthy endpoint lags while blocks spread`,
    )
  if (recover !== undefined && recover >= lag)
    complain([...path, 'lag_recover_blocks'], 'expected to be less than lag_blocks')
  if (down !== undefined && down <= lag) complain([...path, 'lag_blocks_down'], 'expected to be more than lag_blocks')
}

/** Warns of what the nodes of the family do not tell, so that users do not rely on it. */
function effectRules({ family, thresholds, poll }: NetworkDraft, path: Path, { warn }: Report): void {
  if (family === undefined) return
  const { heartbeat, min_peers: minPeers } = thresholds ?? {}
  if (family !== 'avalanche') {
    if (heartbeat !== undefined && heartbeat !== parseDuration(THRESHOLDS.heartbeat))
      warn([...path, 'thresholds', 'heartbeat'], 'has no effect: only avalanche nodes tell their heartbeat')
    return
  }
  if (minPeers !== undefined && minPeers !== THRESHOLDS.minPeers)
    warn([...path, 'thresholds', 'min_peers'], 'has no effect: the health of avalanche nodes includes their peers')
  if (poll?.liveness_interval !== undefined)
    warn([...path, 'poll', 'liveness_interval'], 'has no effect: liveness of avalanche is polled with every head')
}

function endpointRules(endpoint: EndpointDraft, network: NetworkDraft, path: Path, report: Report): void {
  const { complain } = report
  const { family } = network
  const checks = endpoint.checks ?? []
  unique(checks, (at) => [...path, 'checks', at], report)
  if (family === undefined) return
  if (endpoint.beacon_url !== undefined) {
    if (family !== 'ethereum') complain([...path, 'beacon_url'], 'only ethereum has consensus nodes')
    else if (endpoint.checks !== undefined && !checks.includes('liveness'))
      complain([...path, 'beacon_url'], 'needs the check liveness, which is not among the checks')
  }
  headerRules(endpoint, path, report)
  if (family === 'avalanche' && endpoint.rpc_path !== '/' && endsWithChainPath(endpoint.url)) {
    report.warn([...path, 'url'], 'ends with /ext/bc/…/rpc, which rpc_path appends: expected the URL before it')
  }
  if (family === 'multiversx') return multiversxRules(endpoint, network, path, report)
  if (endpoint.kind !== undefined) complain([...path, 'kind'], 'only multiversx has kinds of endpoints')
  if (endpoint.shard !== undefined) complain([...path, 'shard'], 'only multiversx has shards')
}

/** Headers that frame the request or that the daemon sets; overriding them would break requests. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function headerRules({ headers = {} }: EndpointDraft, path: Path, { complain }: Report): void {
  const seen = new Set<string>()
  for (const key of Object.keys(headers)) {
    const lower = key.toLowerCase()
    if (RESERVED_HEADERS.has(lower)) complain([...path, 'headers', key], 'is set by the daemon itself')
    if (seen.has(lower)) complain([...path, 'headers', key], 'given twice (header names ignore case)')
    seen.add(lower)
  }
}

function multiversxRules(
  endpoint: EndpointDraft,
  network: NetworkDraft,
  path: Path,
  { complain, isWrong }: Report,
): void {
  const { kind, shard, rpc_path: rpcPath } = endpoint
  if (rpcPath !== undefined) complain([...path, 'rpc_path'], 'multiversx has no JSON-RPC: put the path into url')
  if (kind === 'observer' && shard === undefined)
    complain([...path, 'shard'], 'required for an observer: the shard that it serves')
  if (kind !== 'observer' && shard !== undefined && !isWrong([...path, 'kind']))
    complain([...path, 'shard'], 'only an observer (kind: observer) has a shard')
  const shards: readonly (number | undefined)[] = network.shards ?? DERIVED_DEFAULTS.shards
  if (kind === 'observer' && shard !== undefined && !shards.includes(shard)) {
    complain([...path, 'shard'], 'is not among the shards of its network')
  }
}
