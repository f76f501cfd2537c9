import type { NodeLocation } from './address.ts'

/** Takes out of a text whatever is configured as secret; `most`: of what is left, so many characters at most. */
export type Redact = (text: string, most?: number) => string

const REDACTED = '[redacted]'
/** Shorter parts of a URL (`v3`, `rpc`) are no keys, and would blacken half of any answer. */
const SHORTEST = 4
/** Taking out makes shorter: so many times the characters that are wanted are looked at. */
const READ_AHEAD = 8

/**
 * A node may send back what it was asked with: its own address, a key in its path, a header. None of that may be shown, in
 * whatever form it comes.
 */
export function createRedact(
  { url, headers, rpcPath }: NodeLocation & { readonly rpcPath: string },
  shortest = SHORTEST,
): Redact {
  const base = new URL(url.reveal())
  const plain = [
    url.reveal(),
    base.host,
    base.hostname,
    base.username,
    base.password,
    ...base.pathname.split('/'),
    base.search.slice(1),
    ...base.searchParams.values(),
    ...rpcPath.split(/[/?&=]/),
    ...Object.values(headers).flatMap((value) => [value.reveal(), ...value.reveal().split(/\s+/)]),
    ...(base.username === '' && base.password === '' ? [] : [basic(base), basicDecoded(base)]),
  ]
  const forms = new Set(plain.flatMap(formsOf).filter((form) => form.length >= shortest))
  // The longest first, so that nothing is left of it around one of its parts.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(ordered.map((form) => form.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'gi')
  const longest = ordered[0]?.length ?? 0

  return (text, most = Number.POSITIVE_INFINITY) => {
    // An answer may be a megabyte, and only its beginning is wanted.
    const head = text.slice(0, most * READ_AHEAD)
    const clean = forms.size === 0 ? head : head.replace(pattern, REDACTED)
    // Half a key at the cut is not found: nothing of it may be left.
    const sure = head.length === text.length ? clean : clean.slice(0, -longest || undefined)
    return head.length === text.length && sure.length <= most ? sure : `${sure.slice(0, most)}…`
  }
}

function formsOf(text: string): string[] {
  const decoded = decodedOf(text)
  return [...new Set([text, decoded])].flatMap((form) => [
    form,
    encodeURIComponent(form),
    JSON.stringify(form).slice(1, -1),
    Buffer.from(form).toString('base64').replace(/=+$/, ''),
    Buffer.from(form).toString('hex'),
  ])
}

function basic({ username, password }: URL): string {
  return `${username}:${password}`
}

function basicDecoded({ username, password }: URL): string {
  return `${decodedOf(username)}:${decodedOf(password)}`
}

function decodedOf(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
