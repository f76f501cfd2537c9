import { locationOf } from '../core/host-location.ts'
import type { Listen } from './addresses.ts'
import { type NetworkDraft, networkRules } from './network-rules.ts'
import { notifyRules } from './notify-rules.ts'
import { formatPath, type Path, type Problem } from './problem.ts'
import { type Report, unique, uniqueBy, unknownNames } from './rule-report.ts'
import type { Draft } from './salvage.ts'
import type { ConfigFile } from './schema.ts'

/** Checks the rules across keys. `problems` make the configuration invalid; `warnings` are logged. */
export function checkRules(
  draft: Draft<ConfigFile>,
  { gatewayListenGiven, wrong }: { readonly gatewayListenGiven: boolean; readonly wrong: ReadonlySet<string> },
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const report: Report = {
    complain: (path, message) => problems.push({ path: formatPath(path), message }),
    warn: (path, message) => warnings.push({ path: formatPath(path), message }),
    isWrong: (path) => wrong.has(formatPath(path)),
  }
  const { networks = [], maintenance = [], announcements = [] } = draft
  serverRules(draft, report)
  retentionRules(draft, report)
  clusterRules(draft, report)
  pollRules(draft.poll, draft.poll, ['poll'], report)
  uniqueBy('name', networks, ['networks'], report)
  uniqueBy('host', networks, ['networks'], report)
  networks.forEach((network, at) => {
    if (network === undefined) return
    pollRules(network.poll, { ...draft.poll, ...given(network.poll) }, ['networks', at, 'poll'], report)
    networkRules(network, ['networks', at], report)
  })
  metricsRules(draft, report)
  gatewayRules(draft, gatewayListenGiven, report)
  notifyRules(draft, report)
  uniqueBy('name', maintenance, ['maintenance'], report)
  announcements.forEach((notice, at) => {
    if (notice?.from === undefined || notice.until === undefined || notice.until > notice.from) return
    report.complain(['announcements', at, 'until'], LATER_THAN_FROM)
  })
  maintenance.forEach((window, at) => {
    if (window !== undefined) maintenanceRules(window, networks, ['maintenance', at], report)
  })
  return { problems, warnings }
}

type MaintenanceDraft = NonNullable<NonNullable<Draft<ConfigFile>['maintenance']>[number]>

function given<T extends object>(keys: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(keys ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Shorter tokens can be guessed. */
const MIN_TOKEN_LENGTH = 16

function serverRules({ server, networks = [] }: Draft<ConfigFile>, report: Report): void {
  const { complain, warn, isWrong } = report
  unknownNames({ networks: server?.public_page?.networks }, networks, ['server', 'public_page'], report)
  if (server?.public === false && server.token === undefined && !isWrong(['server', 'token'])) {
    complain(['server', 'public'], 'false needs server.token: without a token the page could not be read')
  }
  if (server?.token !== undefined && server.token.reveal().length < MIN_TOKEN_LENGTH) {
    warn(['server', 'token'], `is shorter than ${MIN_TOKEN_LENGTH} characters and can be guessed`)
  }
  if (server?.listen !== undefined && server.token === undefined && !isLoopback(server.listen)) {
    warn(['server', 'listen'], 'is reachable from other machines; without server.token everything on it is readable')
  }
}

/** A misspelt name would be a label that is empty everywhere. */
function metricsRules({ metrics, networks = [] }: Draft<ConfigFile>, report: Report): void {
  const { labels = [] } = metrics ?? {}
  const pathOf = (at: number) => ['metrics', 'labels', at]
  unique(labels, pathOf, report)
  const known = new Set(
    networks.flatMap((network) =>
      (network?.endpoints ?? []).flatMap((endpoint) => Object.keys(endpoint?.labels ?? {})),
    ),
  )
  labels.forEach((name, at) => {
    if (name !== undefined && !known.has(name)) report.complain(pathOf(at), 'no endpoint has a label of this name')
  })
}

function retentionRules({ store }: Draft<ConfigFile>, { complain }: Report): void {
  const { raw, five_minutes: fiveMinutes, hour } = store?.retention ?? {}
  if (raw !== undefined && fiveMinutes !== undefined && raw > fiveMinutes) {
    complain(['store', 'retention', 'five_minutes'], 'expected to be at least as long as store.retention.raw')
  }
  if (fiveMinutes !== undefined && hour !== undefined && fiveMinutes > hour) {
    complain(['store', 'retention', 'hour'], 'expected to be at least as long as store.retention.five_minutes')
  }
}

function clusterRules({ store, cluster }: Draft<ConfigFile>, { complain, isWrong }: Report): void {
  const hasUrl = store?.url !== undefined || isWrong(['store', 'url'])
  if (cluster !== undefined && !hasUrl) {
    complain(['cluster'], 'needs store.url: the members of a cluster share a PostgreSQL database')
  }
  if (hasUrl && store?.path === ':memory:') {
    complain(
      ['store', 'path'],
      'with store.url, expected a file for the rows that wait while the database is away, or nothing',
    )
  }
}

type PollDraft = NetworkDraft['poll'] | undefined

/** Checks only keys set at this level, because inherited values adapt (`resolve.ts`). */
function pollRules(own: PollDraft, effective: PollDraft, path: Path, { complain }: Report): void {
  if (own?.timeout !== undefined && effective?.interval !== undefined && own.timeout > effective.interval) {
    complain([...path, 'timeout'], 'expected to be at most the interval')
  }
  if (
    own?.retry_interval !== undefined &&
    effective?.interval !== undefined &&
    own.retry_interval > effective.interval
  ) {
    complain([...path, 'retry_interval'], 'expected to be at most the interval')
  }
  const perHost = own?.concurrency_per_host
  if (perHost !== undefined && effective?.concurrency !== undefined && perHost > effective.concurrency) {
    complain([...path, 'concurrency_per_host'], 'expected to be at most concurrency')
  }
}

function gatewayRules(draft: Draft<ConfigFile>, listenGiven: boolean, report: Report): void {
  const { complain, warn } = report
  const { gateway, server } = draft
  if (gateway === undefined) return
  const { enabled, listen, callers = [] } = gateway
  const known = new Set(draft.networks?.map((network) => network?.name))
  if (enabled === true && gateway.callers?.length === 0) {
    complain(['gateway', 'callers'], 'expected at least one caller: without one, every request is refused')
  }
  if ((enabled === true || listenGiven) && listen && server?.listen && collide(listen, server.listen)) {
    complain(['gateway', 'listen'], 'the same as server.listen')
  }
  if (enabled === true && listen && gateway.tls === undefined && !isLoopback(listen)) {
    warn(
      ['gateway', 'listen'],
      'is reachable from other machines without TLS: endpoint_ids cross the network unencrypted',
    )
  }
  uniqueBy('name', callers, ['gateway', 'callers'], report)
  uniqueBy('endpoint_id', callers, ['gateway', 'callers'], report)
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
  report: Report,
): void {
  const { complain, isWrong } = report
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
      complain([...path, 'until'], LATER_THAN_FROM)
    }
  }
  unknownNames(window, networks, path, report)
}

const LATER_THAN_FROM = 'expected to be later than from'

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function collide(a: Listen, b: Listen): boolean {
  if (a.port !== b.port || a.port === 0) return false
  return a.host === b.host || EVERY_ADDRESS.has(a.host) || EVERY_ADDRESS.has(b.host)
}

function isLoopback({ host }: Listen): boolean {
  return locationOf(host.includes(':') ? `[${host}]` : host).zone === 'loopback'
}
