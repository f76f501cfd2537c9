import type { Secret } from '../secret.ts'
import { version } from '../version.ts'

/** Computes a node's paths, headers and connection key once for all requests. */
export function createAddress({ url, headers, tls }: NodeLocation): NodeAddress {
  const base = new URL(url.reveal())
  const configured = basicAuthorization(base)
  for (const [name, value] of Object.entries(headers)) configured[name.toLowerCase()] = value.reveal()
  // Read once, because a URL's getters compute their value on every access.
  const { origin, pathname, search } = base
  const basePath = pathname.replace(/\/+$/, '')

  return {
    origin,
    tls,
    connectionKey: JSON.stringify([origin, configured.host ?? null, tls.ca, tls.insecure]),
    // Most nodes have none of their own, and share one list.
    headers: Object.keys(configured).length === 0 ? OWN : headersWith(configured),
    pathOf(path) {
      // A provider's URL may end with its key; a `/` after it would be a different path.
      const whole = path === '/' && basePath !== '' ? pathname + search : basePath + path + search
      if (!VISIBLE_ASCII.test(whole)) throw new Error('a path must be of visible ASCII characters')
      return whole
    },
  }
}

/** How a node's TLS certificate is verified. */
export interface TlsTrust {
  /** PEM; `null` for the system's certificate authorities. */
  readonly ca: string | null
  readonly insecure: boolean
}

/** Location of a node, as configured. Every part is secret. */
export interface NodeLocation {
  readonly url: Secret
  readonly headers: Readonly<Record<string, Secret>>
  readonly tls: TlsTrust
}

export interface NodeAddress {
  readonly origin: string
  readonly tls: TlsTrust
  /** Addresses with the same key share connections. */
  readonly connectionKey: string
  /** As alternating names and values, without a body and with one. */
  readonly headers: { readonly GET: string[]; readonly POST: string[] }
  /** Returns the path to request: `path` appended to the base URL. */
  pathOf(path: string): string
}

const OWN_HEADERS: Readonly<Record<string, string>> = {
  'user-agent': `heartline/${version}`,
  accept: 'application/json',
  'accept-encoding': 'identity',
}
const OWN = headersWith({})

function headersWith(configured: Readonly<Record<string, string>>): NodeAddress['headers'] {
  const all = { ...OWN_HEADERS, ...configured }
  return {
    GET: Object.entries(all).flat(),
    POST: Object.entries({ 'content-type': 'application/json', ...all }).flat(),
  }
}

/** Other characters could end the request line and start another request. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/

function basicAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** Decodes percent escapes. Returns text with an invalid escape (`user:100%@host`) unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
