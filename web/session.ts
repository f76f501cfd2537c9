/** The token. It is kept for this tab and sent in a header, never in an address or a cookie. */
export function token(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY) ?? inMemory
  } catch {
    return inMemory
  }
}

const STORAGE_KEY = 'heartline-token'
let inMemory: string | null = null

export function storeToken(token: string | null): void {
  inMemory = token
  try {
    if (token === null) sessionStorage.removeItem(STORAGE_KEY)
    else sessionStorage.setItem(STORAGE_KEY, token)
  } catch {
    // Without storage the token is kept while the page is open.
  }
}

/** The headers of every request to the daemon. */
export function authHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const held = token()
  return held === null ? { ...headers } : { ...headers, authorization: `Bearer ${held}` }
}

/** Names those who may see the same data, without revealing the token. */
export async function audienceName(): Promise<string> {
  const held = token()
  if (held === null || !isSecureContext) return ''
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(held))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
