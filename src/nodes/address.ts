import type { Secret } from '../secret.ts'
import { version } from '../version.ts'

/** Prepares a node's location for repeated requests: paths, headers, and the key by which connections are shared. */
export function createAddress({ url, headers, tls }: NodeLocation): NodeAddress {
  const base = new URL(url.reveal())
  const all: Record<string, string> = { ...OWN_HEADERS, ...basicAuthorization(base) }
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value.reveal()
  // A URL's getters compute their value on every access.
  const { origin, pathname, search } = base
  const basePath = pathname.replace(/\/+$/, '')

  return {
    origin,
    tls,
    connectionKey: JSON.stringify([origin, all.host ?? null, tls.ca, tls.insecure]),
    headers: {
      GET: Object.entries(all).flat(),
      POST: Object.entries({ 'content-type': 'application/json', ...all }).flat(),
    },
    pathOf(path) {
      // A provider's URL ends with its key: with another `/` it would be another path.
      const whole = path === '/' && basePath !== '' ? pathname + search : basePath + path + search
      if (!VISIBLE_ASCII.test(whole)) throw new Error('a path must be of visible ASCII characters')
      return whole
    },
  }
}

/** How a node is trusted over TLS. */
export interface TlsTrust {
  /** PEM; `null` for the system's authorities. */
  readonly ca: string | null
  readonly insecure: boolean
}

/** Where a node is, as configured. All of it is secret. */
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
  /** By method: names and values in turn. */
  readonly headers: { readonly GET: string[]; readonly POST: string[] }
  /** The path to request; `path` is appended to the base URL. */
  pathOf(path: string): string
}

const OWN_HEADERS: Readonly<Record<string, string>> = {
  'user-agent': `heartline/${version}`,
  accept: 'application/json',
  'accept-encoding': 'identity',
}

/** Other characters could end the request line and begin another request. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/

function basicAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** A percent sign that begins no code (`user:100%@host`) is meant literally. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
