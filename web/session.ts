/** The token is kept for this tab and sent in a header, never in an address or a cookie. */
const KEPT_AS = 'heartline-token'
let inMemory: string | null = null

export function token(): string | null {
  try {
    return sessionStorage.getItem(KEPT_AS) ?? inMemory
  } catch {
    return inMemory
  }
}

export function keepToken(token: string | null): void {
  inMemory = token
  try {
    if (token === null) sessionStorage.removeItem(KEPT_AS)
    else sessionStorage.setItem(KEPT_AS, token)
  } catch {
    // Without storage the token is kept while the page is open.
  }
}

/** The headers of every request to the daemon. */
export function authorised(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const held = token()
  return held === null ? { ...headers } : { ...headers, authorization: `Bearer ${held}` }
}
