import { formatPath, type Path, type Problem } from './problem.ts'
import type { Draft } from './salvage.ts'
import type { Listen } from './scalars.ts'
import type { ConfigFile } from './schema.ts'
import { FAMILY_DEFAULTS, YIELDING_DEFAULTS } from './schema.ts'

type Complain = (path: Path, message: string) => void
/** Whether a key was given, and wrong: then it is no reason to say that it is missing. */
type IsWrong = (path: Path) => boolean
type NetworkDraft = NonNullable<NonNullable<Draft<ConfigFile>['networks']>[number]>
type EndpointDraft = NonNullable<NonNullable<NetworkDraft['endpoints']>[number]>
type MaintenanceDraft = NonNullable<NonNullable<Draft<ConfigFile>['maintenance']>[number]>

/** What keys must not say together. `problems` stop the daemon; `warnings` are for its log. */
export function checkRules(
  draft: Draft<ConfigFile>,
  { gatewayListenGiven, wrong }: { readonly gatewayListenGiven: boolean; readonly wrong: ReadonlySet<string> },
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const complain: Complain = (path, message) => problems.push({ path: formatPath(path), message })
  const warn: Complain = (path, message) => warnings.push({ path: formatPath(path), message })

  const isWrong: IsWrong = (path) => wrong.has(formatPath(path))

  serverRules(draft, isWrong, complain, warn)
  retentionRules(draft, complain)
  pollRules(draft.poll, draft.poll, ['poll'], complain)
  const networks = draft.networks ?? []
  unique(
    networks,
    (network) => network.name,
    (at) => ['networks', at, 'name'],
    complain,
  )
  unique(
    networks,
    (network) => network.host,
    (at) => ['networks', at, 'host'],
    complain,
  )
  networks.forEach((network, at) => {
    if (network === undefined) return
    pollRules(network.poll, { ...draft.poll, ...given(network.poll) }, ['networks', at, 'poll'], complain)
    networkRules(network, ['networks', at], isWrong, complain, warn)
  })
  gatewayRules(draft, gatewayListenGiven, complain, warn)
  const windows = draft.maintenance ?? []
  unique(
    windows,
    (window) => window.name,
    (at) => ['maintenance', at, 'name'],
    complain,
  )
  windows.forEach((window, at) => {
    if (window !== undefined) maintenanceRules(window, networks, ['maintenance', at], isWrong, complain)
  })
  return { problems, warnings }
}

/** The second of two that are the same is named, with where the first is. */
function unique<T>(
  items: readonly (T | undefined)[],
  valueOf: (item: T) => string | number | undefined,
  pathOf: (at: number) => Path,
  complain: Complain,
): void {
  const seen = new Map<string | number, number>()
  items.forEach((item, at) => {
    const value = item === undefined ? undefined : valueOf(item)
    if (value === undefined) return
    const first = seen.get(value)
    if (first === undefined) seen.set(value, at)
    else complain(pathOf(at), `the same as ${formatPath(pathOf(first))}`)
  })
}

function given<T extends object>(keys: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(keys ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Characters that a token needs to keep guessing hopeless. */
const UNGUESSABLE = 16

function serverRules({ server }: Draft<ConfigFile>, isWrong: IsWrong, complain: Complain, warn: Complain): void {
  if (server?.public === false && server.token === undefined && !isWrong(['server', 'token'])) {
    complain(['server', 'public'], 'false needs server.token: without one nobody could read the page')
  }
  if (server?.token !== undefined && server.token.reveal().length < UNGUESSABLE) {
    warn(['server', 'token'], `is shorter than ${UNGUESSABLE} characters: it may be guessed`)
  }
  if (server?.listen !== undefined && server.token === undefined && !isLoopback(server.listen)) {
    warn(
      ['server', 'listen'],
      'is reachable from other machines, and without server.token everything on it is readable',
    )
  }
}

function retentionRules({ store }: Draft<ConfigFile>, complain: Complain): void {
  const { raw, five_minutes: fiveMinutes, hour } = store?.retention ?? {}
  if (raw !== undefined && fiveMinutes !== undefined && raw > fiveMinutes) {
    complain(['store', 'retention', 'five_minutes'], 'expected to be at least as long as store.retention.raw')
  }
  if (fiveMinutes !== undefined && hour !== undefined && fiveMinutes > hour) {
    complain(['store', 'retention', 'hour'], 'expected to be at least as long as store.retention.five_minutes')
  }
}

type PollDraft = NetworkDraft['poll'] | undefined

/** Only what is set here is judged: inherited values give way (`resolve.ts`). */
function pollRules(own: PollDraft, effective: PollDraft, path: Path, complain: Complain): void {
  if (own?.timeout !== undefined && effective?.interval !== undefined && own.timeout > effective.interval) {
    complain([...path, 'timeout'], 'expected to be at most the interval')
  }
  const perHost = own?.concurrency_per_host
  if (perHost !== undefined && effective?.concurrency !== undefined && perHost > effective.concurrency) {
    complain([...path, 'concurrency_per_host'], 'expected to be at most concurrency')
  }
}

function networkRules(network: NetworkDraft, path: Path, isWrong: IsWrong, complain: Complain, warn: Complain): void {
  const { family, endpoints = [], shards, thresholds } = network
  unique(
    endpoints,
    (endpoint) => endpoint.name,
    (at) => [...path, 'endpoints', at, 'name'],
    complain,
  )
  unique(
    shards ?? [],
    (shard) => shard,
    (at) => [...path, 'shards', at],
    complain,
  )
  thresholdRules(thresholds, [...path, 'thresholds'], complain)
  if (family !== undefined && family !== 'multiversx' && shards !== undefined) {
    complain([...path, 'shards'], 'only multiversx has shards')
  }
  if (family === 'multiversx' && network.chain_id !== undefined) {
    complain([...path, 'chain_id'], 'multiversx has no chain id of this kind')
  }
  endpoints.forEach((endpoint, at) => {
    if (endpoint === undefined) return
    endpointRules(endpoint, network, [...path, 'endpoints', at], isWrong, complain)
    if (endpoint.tls?.insecure === true) {
      warn([...path, 'endpoints', at, 'tls', 'insecure'], 'any certificate is accepted: answers may be anybody’s')
    }
  })
}

function thresholdRules(thresholds: NetworkDraft['thresholds'], path: Path, complain: Complain): void {
  const { lag_blocks: lag, lag_recover_blocks: recover, lag_blocks_down: down } = thresholds ?? {}
  if (lag === undefined) return
  if (recover !== undefined && recover >= lag)
    complain([...path, 'lag_recover_blocks'], 'expected to be less than lag_blocks')
  if (down !== undefined && down <= lag) complain([...path, 'lag_blocks_down'], 'expected to be more than lag_blocks')
}

function endpointRules(
  endpoint: EndpointDraft,
  network: NetworkDraft,
  path: Path,
  isWrong: IsWrong,
  complain: Complain,
): void {
  const { family } = network
  unique(
    endpoint.checks ?? [],
    (check) => check,
    (at) => [...path, 'checks', at],
    complain,
  )
  if (family === undefined) return
  const offered: readonly string[] = FAMILY_DEFAULTS[family].offered
  endpoint.checks?.forEach((check, at) => {
    if (check !== undefined && !offered.includes(check))
      complain([...path, 'checks', at], `${family} nodes offer no ${check}`)
  })
  headerRules(endpoint, path, complain)
  if (family === 'multiversx') return shardRules(endpoint, network, path, isWrong, complain)
  if (endpoint.kind !== undefined) complain([...path, 'kind'], 'only multiversx has kinds of endpoints')
  if (endpoint.shard !== undefined) complain([...path, 'shard'], 'only multiversx has shards')
}

/** Headers that frame the request or are ours to set: a node would answer something else, or the connection would break. */
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

function headerRules({ headers = {} }: EndpointDraft, path: Path, complain: Complain): void {
  const seen = new Set<string>()
  for (const key of Object.keys(headers)) {
    const lower = key.toLowerCase()
    if (RESERVED_HEADERS.has(lower)) complain([...path, 'headers', key], 'is set by the daemon itself')
    if (seen.has(lower)) complain([...path, 'headers', key], 'given twice (upper and lower case are the same here)')
    seen.add(lower)
  }
}

function shardRules(
  endpoint: EndpointDraft,
  network: NetworkDraft,
  path: Path,
  isWrong: IsWrong,
  complain: Complain,
): void {
  const { kind, shard } = endpoint
  if (kind === 'observer' && shard === undefined)
    complain([...path, 'shard'], 'an observer needs the shard that it serves')
  if (kind !== 'observer' && shard !== undefined && !isWrong([...path, 'kind']))
    complain([...path, 'shard'], 'only an observer has one: kind: observer')
  const shards: readonly (number | undefined)[] = network.shards ?? YIELDING_DEFAULTS.shards
  if (kind === 'observer' && shard !== undefined && !shards.includes(shard)) {
    complain([...path, 'shard'], 'is not among the shards of its network')
  }
}

function gatewayRules(draft: Draft<ConfigFile>, listenGiven: boolean, complain: Complain, warn: Complain): void {
  const { gateway, server } = draft
  if (gateway === undefined) return
  const callers = gateway.callers ?? []
  const known = new Set(draft.networks?.map((network) => network?.name))
  if (gateway.enabled === true && gateway.callers?.length === 0) {
    complain(['gateway', 'callers'], 'expected at least one caller: without any, nobody may use the gateway')
  }
  if (
    (gateway.enabled === true || listenGiven) &&
    gateway.listen &&
    server?.listen &&
    collide(gateway.listen, server.listen)
  ) {
    complain(['gateway', 'listen'], 'the same as server.listen')
  }
  if (gateway.enabled === true && gateway.listen && gateway.tls === undefined && !isLoopback(gateway.listen)) {
    warn(
      ['gateway', 'listen'],
      'is reachable from other machines without TLS: endpoint_ids cross the network in the clear',
    )
  }
  unique(
    callers,
    (caller) => caller.name,
    (at) => ['gateway', 'callers', at, 'name'],
    complain,
  )
  unique(
    callers,
    (caller) => caller.endpoint_id?.reveal(),
    (at) => ['gateway', 'callers', at, 'endpoint_id'],
    complain,
  )
  callers.forEach((caller, at) => {
    const path = ['gateway', 'callers', at]
    caller?.networks?.forEach((name, index) => {
      if (name !== undefined && !known.has(name)) complain([...path, 'networks', index], 'no network has this name')
    })
    if (caller?.admin === true && gateway.admin === false) {
      warn([...path, 'admin'], 'has no effect until gateway.admin is true')
    }
  })
}

function maintenanceRules(
  window: MaintenanceDraft,
  networks: readonly (NetworkDraft | undefined)[],
  path: Path,
  isWrong: IsWrong,
  complain: Complain,
): void {
  const repeated = window.schedule !== undefined || isWrong([...path, 'schedule'])
  const once =
    window.from !== undefined || window.until !== undefined || isWrong([...path, 'from']) || isWrong([...path, 'until'])
  if (repeated === once) {
    complain(path, 'expected either schedule and duration, or from and until')
  } else if (repeated) {
    if (window.duration === undefined) complain([...path, 'duration'], 'schedule needs a duration')
  } else {
    if (window.from === undefined) complain([...path, 'from'], 'until needs a from')
    if (window.until === undefined) complain([...path, 'until'], 'from needs an until')
    if (window.duration !== undefined) complain([...path, 'duration'], 'belongs to schedule; from has until')
    if (window.timezone !== undefined)
      complain([...path, 'timezone'], 'belongs to schedule; from and until carry their offset')
    if (window.from !== undefined && window.until !== undefined && window.until <= window.from) {
      complain([...path, 'until'], 'expected to be later than from')
    }
  }
  const named = window.networks
  const meant = networks.filter(
    (network) => network !== undefined && (named === undefined || named.includes(network.name)),
  )
  named?.forEach((name, at) => {
    if (name !== undefined && !networks.some((network) => network?.name === name)) {
      complain([...path, 'networks', at], 'no network has this name')
    }
  })
  window.endpoints?.forEach((name, at) => {
    if (name === undefined) return
    if (!meant.some((network) => network?.endpoints?.some((endpoint) => endpoint?.name === name))) {
      complain([...path, 'endpoints', at], 'no endpoint of these networks has this name')
    }
  })
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function collide(a: Listen, b: Listen): boolean {
  if (a.port !== b.port || a.port === 0) return false
  return a.host === b.host || EVERY_ADDRESS.has(a.host) || EVERY_ADDRESS.has(b.host)
}

function isLoopback({ host }: Listen): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
