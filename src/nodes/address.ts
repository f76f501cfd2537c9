import type { Secret } from '../secret.ts'
import { version } from '../version.ts'

/** How a node is trusted over TLS. */
export interface TlsTrust {
  /** PEM; `null` for the system's authorities. */
  readonly ca: string | null
  readonly insecure: boolean
}

/** What is configured of where a node is. All of it is secret. */
export interface NodeLocation {
  readonly url: Secret
  readonly headers: Readonly<Record<string, Secret>>
  readonly tls: TlsTrust
}

/** A location made ready to be asked again and again. */
export interface NodeAddress {
  readonly origin: string
  readonly tls: TlsTrust
  /** Addresses with the same one share connections. */
  readonly connectionKey: string
  /** Request line and headers, all but `content-length`; `path` is appended to the base URL. */
  headOf(method: 'GET' | 'POST', path: string): string
}

const OWN_HEADERS: Readonly<Record<string, string>> = {
  'user-agent': `heartline/${version}`,
  accept: 'application/json',
  'accept-encoding': 'identity',
}

export function createAddress({ url, headers, tls }: NodeLocation): NodeAddress {
  const base = new URL(url.reveal())
  const all: Record<string, string> = { ...OWN_HEADERS, ...basicAuthorization(base) }
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value.reveal()
  // A URL's getters work each time that they are read, and these are read for every request.
  const { pathname, search } = base
  const basePath = pathname.replace(/\/+$/, '')
  const block = (headers: Readonly<Record<string, string>>) =>
    ` HTTP/1.1\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}`
  const common = { host: base.host, connection: 'keep-alive' }
  const blocks = {
    GET: block({ ...common, ...all }),
    POST: block({ ...common, 'content-type': 'application/json', ...all }),
  }
  const last: { path: string | null; GET: string; POST: string } = { path: null, GET: '', POST: '' }

  /** A provider's URL ends with its key: `/` after it would be another path. */
  function pathOf(path: string): string {
    const whole = path === '/' && basePath !== '' ? pathname : basePath + path
    return whole + search
  }

  return {
    origin: base.origin,
    tls,
    connectionKey: JSON.stringify([base.origin, all.host ?? null, tls.ca, tls.insecure]),
    headOf(method, path) {
      // Nearly all requests to a node have one path.
      if (path !== last.path) {
        const whole = pathOf(path)
        if (!PLAIN.test(whole)) throw new Error('a path must be of visible ASCII characters')
        last.path = path
        last.GET = `GET ${whole}${blocks.GET}`
        last.POST = `POST ${whole}${blocks.POST}`
      }
      return last[method]
    },
  }
}

/** Anything else could end the request line, and begin another request. */
const PLAIN = /^[\x21-\x7e]+$/

function basicAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** A URL may hold a percent sign that begins no code (`user:100%@host`): then it was meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
