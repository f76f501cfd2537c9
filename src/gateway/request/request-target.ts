import { type GatewayError, gatewayError } from '../errors.ts'

/** Which networks requests may be for. */
export interface GatewayPlaces {
  /** By the first segment of the path. */
  readonly names: ReadonlySet<string>
  /** The network of each host name, in lower case. */
  readonly hosts: ReadonlyMap<string, string>
}

/** Whom a request is from and what of, as its request line says; nothing of it has been judged but its characters. */
export interface Target {
  readonly kind: 'target'
  /**
   * `null` when there is no such network. Then the `endpoint_id` is looked up all the same: with a wrong one the answer is that to
   * every wrong one, with a right one that to a network which this caller may not use. So nobody learns which networks exist.
   */
  readonly network: string | null
  readonly endpointId: string
  /** What follows the `endpoint_id`: '', '/' or a path such as `/ext/health`, exactly as sent. */
  readonly rest: string
  /** What follows `?`; `null` without one. */
  readonly query: string | null
}

/** No route is longer than a few hundred characters: an alias has 512, an `endpoint_id` 128. */
const MAX_TARGET = 8192

/**
 * Reads a request target strictly: nothing is decoded, cut or put right, for whatever two readers understand differently is a way
 * around a rule. What is not in the plain alphabet of our routes is refused, before and regardless of who asks.
 */
export function readTarget(url: string, host: string | undefined, places: GatewayPlaces): Target | GatewayError {
  if (url.length > MAX_TARGET) return TOO_LONG
  const pathEnd = plainPathEnd(url)
  if (pathEnd < 0) return UNKNOWN
  let query: string | null = null
  if (pathEnd < url.length) {
    query = url.slice(pathEnd + 1)
    if (!isPlainQuery(query)) return UNKNOWN
  }
  const byHost = places.hosts.size === 0 || host === undefined ? undefined : networkOfHost(host, places.hosts)
  if (byHost !== undefined) return targetAt(url, 1, pathEnd, byHost, query)
  const slash = url.indexOf('/', 1)
  if (slash === -1) return UNKNOWN
  const name = url.slice(1, slash)
  return targetAt(url, slash + 1, pathEnd, places.names.has(name) ? name : null, query)
}

/**
 * `at` is where the `endpoint_id` begins. No segment but the last is empty by now, and no query holds a `/`. A slash at the end is
 * taken behind the `endpoint_id` alone, where people and libraries put it behind a base URL.
 */
function targetAt(
  url: string,
  at: number,
  pathEnd: number,
  network: string | null,
  query: string | null,
): Target | GatewayError {
  const slash = url.indexOf('/', at)
  const end = slash === -1 ? pathEnd : slash
  if (end === at || (url.charCodeAt(pathEnd - 1) === SLASH && end !== pathEnd - 1)) return UNKNOWN
  return { kind: 'target', network, endpointId: url.slice(at, end), rest: url.slice(end, pathEnd), query }
}

const SLASH = 47
const POINT = 46
const QUESTION = 63

/** What may stand in a path: a letter, a digit, or one of `-._~:`; and in a query those and `=&,`. */
const IN_PATH = alphabet('-._~:')
const IN_QUERY = alphabet('-._~:=&,')

function alphabet(others: string): Uint8Array {
  const table = new Uint8Array(128)
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  for (const character of `0123456789${letters}${letters.toUpperCase()}${others}`) table[character.charCodeAt(0)] = 1
  return table
}

/** Where the path ends; -1 when it is not `/` and segments of plain characters, none `.` or `..`, none but the last empty. */
function plainPathEnd(url: string): number {
  if (url.charCodeAt(0) !== SLASH) return -1
  let segment = 1
  for (let at = 1; at < url.length; at++) {
    const code = url.charCodeAt(at)
    if (code === QUESTION) return segment === at || isPlainSegment(url, segment, at) ? at : -1
    if (code === SLASH) {
      if (!isPlainSegment(url, segment, at)) return -1
      segment = at + 1
    } else if (IN_PATH[code] !== 1) return -1
  }
  return segment === url.length || isPlainSegment(url, segment, url.length) ? url.length : -1
}

function isPlainSegment(url: string, start: number, end: number): boolean {
  if (end - start > 2 || url.charCodeAt(start) !== POINT) return end > start
  return end - start === 2 && url.charCodeAt(start + 1) !== POINT
}

function isPlainQuery(query: string): boolean {
  for (let at = 0; at < query.length; at++) if (IN_QUERY[query.charCodeAt(at)] !== 1) return false
  return query !== ''
}

/** Names of hosts know no case (RFC 4343); a port says nothing about the network. */
function networkOfHost(host: string, hosts: ReadonlyMap<string, string>): string | undefined {
  const asSent = hosts.get(host)
  if (asSent !== undefined) return asSent
  const colon = host.indexOf(':')
  if (colon !== -1 && !isPort(host, colon + 1)) return undefined
  return hosts.get((colon === -1 ? host : host.slice(0, colon)).toLowerCase())
}

function isPort(host: string, at: number): boolean {
  for (let here = at; here < host.length; here++) {
    const code = host.charCodeAt(here)
    if (code < 48 || code > 57) return false
  }
  return host.length <= at + 5
}

const UNKNOWN = gatewayError('unknown-route', 'unknown route')
const TOO_LONG = gatewayError('unknown-route', `the request target is longer than ${MAX_TARGET} characters`)
