/** The addresses of all views. The daemon serves them; the browser switches between them without a page load. */
export const PATHS = {
  overview: '/',
  network: '/networks/:network',
  endpoint: '/endpoints/:network/:endpoint',
  incidents: '/incidents',
  incident: '/incidents/:id',
  observer: '/observer',
  gateway: '/gateway',
  notifications: '/notifications',
  runbook: '/runbooks/:name',
  'sign-in': '/sign-in',
} as const

export type ViewName = keyof typeof PATHS

export const VIEW_NAMES = Object.keys(PATHS) as readonly ViewName[]

export interface Route {
  readonly view: ViewName
  /** The path in the address. */
  readonly path?: string
  /** The values of the named path segments. */
  readonly params: Readonly<Record<string, string>>
  /** The query string; the last value of a repeated name. */
  readonly query: Readonly<Record<string, string>>
}

/** `null` if the path is not a view. */
export function routeOf(path: string, query: Readonly<Record<string, string>> = {}): Route | null {
  for (const view of VIEW_NAMES) {
    const params = match(PATHS[view], path)
    if (params !== null) return { view, path, params, query }
  }
  return null
}

function match(pattern: string, path: string): Record<string, string> | null {
  const names = pattern.split('/')
  const parts = path.split('/')
  if (names.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [at, name] of names.entries()) {
    const part = parts[at] ?? ''
    if (!name.startsWith(':')) {
      if (name !== part) return null
      continue
    }
    const value = decoded(part)
    if (value === null || value === '') return null
    params[name.slice(1)] = value
  }
  return params
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

export function networkPath(network: string): string {
  return `/networks/${encodeURIComponent(network)}`
}

export function endpointPath(network: string, endpoint: string): string {
  return `/endpoints/${encodeURIComponent(network)}/${encodeURIComponent(endpoint)}`
}

export function incidentPath(id: string): string {
  return `/incidents/${encodeURIComponent(id)}`
}
