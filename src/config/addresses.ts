import { databaseUrls } from '../core/database-url.ts'
import { Secret } from '../secret.ts'
import { INTERPOLATED, scalar, shaped, textual } from './scalars.ts'

/** Hosts, listeners, URLs and mail addresses in the configuration. Each reports what it expected, never the value. */

const HOST_NAME = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

export const host = textual(
  'a host name such as avax.rpc.example.org, without scheme, port or path',
  'host',
  null,
  (text) => (HOST_NAME.test(text) ? text.toLowerCase() : undefined),
)

/** Address to listen on; port 0 means any free port. */
export interface Listen {
  readonly host: string
  readonly port: number
}

/** The URL of a listener, for clients on this machine. */
export function urlOf({ host, port }: Listen, secure: boolean): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return `${secure ? 'https' : 'http'}://${shown}:${port}/`
}

const LISTEN = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/

function parseListen(text: string): Listen | undefined {
  const [, v6, v4OrName, digits] = LISTEN.exec(text) ?? []
  const port = Number(digits)
  const address = v6 ?? v4OrName
  if (address === undefined || port > 65_535) return undefined
  if (v6 !== undefined && !URL.canParse(`http://[${v6}]`)) return undefined
  // `256.1.1.1` is neither an address nor a valid DNS name.
  if (v6 === undefined && !(HOST_NAME.test(address) && URL.canParse(`http://${address}`))) return undefined
  return { host: address.toLowerCase(), port }
}

export const listen = textual('HOST:PORT such as 127.0.0.1:9780 or [::1]:9780', 'address', LISTEN.source, parseListen)

/** A base URL without query. A trailing `/` is removed, because paths are appended. */
function parseBaseUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s?#\\]{1,2000}$/i.test(text) || !URL.canParse(text)) return undefined
  const { username, password } = new URL(text)
  return username === '' && password === '' ? text.replace(/\/+$/, '') : undefined
}

/**
 * A node's URL may contain a key where the provider requires it: user and password (sent as Basic), path, or query. A
 * trailing `/` of a path is significant and kept.
 */
export function parseNodeUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s#\\]{1,2000}$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text).pathname === '/' && !text.includes('?') ? text.replace(/\/+$/, '') : text
}

export const NODE_URL_EXPECTED = 'an http(s) URL without fragment'
const URL_EXPECTED = 'an http(s) URL without user, query or fragment'
const URL_PATTERN = '^https?://'

export const nodeUrl = textual(NODE_URL_EXPECTED, 'url (secret)', URL_PATTERN, (text) => {
  const url = parseNodeUrl(text)
  return url === undefined ? undefined : new Secret(url)
})

export function isHttps(url: Secret | undefined): boolean {
  return url !== undefined && /^https:/i.test(url.reveal())
}

/** Wallets are given the URL of an Avalanche node with the path that `rpc_path` appends. */
export function endsWithChainPath(url: Secret | undefined): boolean {
  return url !== undefined && /\/ext\/bc\/[^/?]+\/rpc\/?(?:\?|$)/.test(url.reveal())
}

/** Parameters such as `sslmode` are allowed; whether they are right is known when the database is opened. */
export const databaseUrl = textual(
  'a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE',
  'url (secret)',
  '^postgres(ql)?://',
  (text) => {
    const isUrl = /^postgres(?:ql)?:\/\/[^\s#\\]{1,2000}$/.test(text) && databaseUrls(text) !== null
    return isUrl ? new Secret(text) : undefined
  },
)

export const publicUrl = textual(URL_EXPECTED, 'url', URL_PATTERN, parseBaseUrl)

/** For readers of the page: never a script, nor a secret in user or password. */
export const link = textual(
  'an http(s) URL without user, or a path that starts with one /',
  'url',
  '^(?:https?://|/(?!/))',
  (text) => {
    if (/^\/(?![/\\])[^\s\\]{0,2000}$/.test(text)) return text
    if (!/^https?:\/\/[^\s\\]{1,2000}$/i.test(text) || !URL.canParse(text)) return undefined
    const { username, password } = new URL(text)
    return username === '' && password === '' ? text : undefined
  },
)

/** A web origin (RFC 6454): scheme, host and port; or `*`. */
export const origin = textual(
  'an origin such as https://app.example.org (scheme, host and perhaps a port, without a path), or *',
  'origin',
  '^(?:\\*|https?://[^/]+)$',
  (text) => {
    if (text === '*') return text
    const isOrigin = /^https?:\/\/[^\s/?#\\@]{1,300}$/i.test(text) && URL.canParse(text)
    return isOrigin ? new URL(text).origin : undefined
  },
)

export const smtpUrl = scalar(
  'a URL such as smtp://USER:PASSWORD@HOST:587 or smtps://HOST:465',
  'url (secret)',
  { type: 'string', anyOf: [{ pattern: '^smtps?://' }, { pattern: INTERPOLATED.pattern }] },
  (value) => {
    if (typeof value !== 'string' || !/^smtps?:\/\/[^\s?#\\]{1,2000}$/.test(value) || !URL.canParse(value))
      return undefined
    const { hostname, pathname } = new URL(value)
    return hostname !== '' && (pathname === '' || pathname === '/') ? new Secret(value) : undefined
  },
)

export const mailAddress = shaped(
  'an address such as ops@example.org',
  'address',
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/,
)
