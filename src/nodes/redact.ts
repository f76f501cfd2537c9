import { MAX_NODE_TEXT } from '../chains/parse.ts'
import type { Liveness } from '../core/poll-result.ts'
import type { Secret } from '../secret.ts'
import { decoded, type NodeLocation } from './address.ts'

/** Makes a function that removes all configured secrets, in any usual encoding: a node's text may echo them. */
export function createRedact(
  {
    url,
    beaconUrl = null,
    headers,
    rpcPath,
  }: NodeLocation & { readonly rpcPath: string; readonly beaconUrl?: Secret | null },
  minCharacters = MIN_CHARACTERS,
): Redact {
  const secrets = [
    ...secretsIn(url),
    ...(beaconUrl === null ? [] : secretsIn(beaconUrl)),
    ...rpcPath.split(/[/?&=]/).filter(mayBeSecret),
    ...Object.values(headers).flatMap((value) => [value.reveal(), ...value.reveal().split(/\s+/)]),
  ]
  const forms = [...new Set(secrets.filter(({ length }) => length >= minCharacters).flatMap(formsOf))]
  const shortest = Math.min(...forms.map(({ length }) => length))
  const margin = Math.max(0, ...forms.map(({ length }) => length)) * MAX_ENCODED_CHARACTERS

  return (text, maxCharacters = Number.POSITIVE_INFINITY) => {
    if (text.length < shortest && text.length <= maxCharacters) return text
    // The beginning of a response suffices; more than `maxCharacters` are scanned, because redaction shortens it.
    const head = text.slice(0, maxCharacters * READ_AHEAD + margin)
    const clean = removeRanges(head, findSecrets(head, forms))
    const isWhole = head.length === text.length
    // The cut may have split a secret, which was then not found, so the end of the text is dropped.
    const safe = isWhole ? clean : clean.slice(0, Math.max(0, clean.length - margin))
    return isWhole && safe.length <= maxCharacters ? safe : `${safe.slice(0, maxCharacters).toWellFormed()}…`
  }
}

function secretsIn(url: Secret): readonly string[] {
  const base = new URL(url.reveal())
  const { username, password } = base
  return [
    url.reveal(),
    base.host,
    base.hostname,
    username,
    password,
    ...base.pathname.split('/').filter(mayBeSecret),
    ...base.search.split(/[?&=]/),
    base.search.slice(1),
    ...base.searchParams.values(),
    ...(username === '' && password === ''
      ? []
      : [`${username}:${password}`, `${decoded(username)}:${decoded(password)}`]),
  ]
}

function mayBeSecret(segment: string): boolean {
  return !PUBLIC_WORDS.has(segment.toLowerCase())
}

/** Words in the documented paths of nodes and providers. They are no keys, and the names of checks contain them. */
const PUBLIC_WORDS: ReadonlySet<string> = new Set(
  (
    'http https jsonrpc json-rpc health admin public gateway proxy network node nodes chain chains beacon archive ' +
    'ethereum avalanche multiversx mainnet testnet devnet sepolia hoodi fuji'
  ).split(' '),
)

/** Removes secrets from a text and truncates the result to `maxCharacters`. */
export type Redact = (text: string, maxCharacters?: number) => string

/**
 * Redacts the strings and member names of a JSON text, whatever their escapes, and drops members that others replace. Returns
 * the same text if nothing changes, and `null` if it is not JSON or contains a secret as a number.
 */
export function redactJson(text: string, redact: Redact): string | null {
  let isChanged = false
  let hasSecretNumber = false
  let strings = 0
  function cleanText(value: string): string {
    strings++
    const clean = redact(value)
    isChanged ||= clean !== value
    return clean
  }
  function cleanValue(value: unknown): unknown {
    if (typeof value === 'string') return cleanText(value)
    if (typeof value === 'number') hasSecretNumber ||= redact(String(value)) !== String(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(cleanValue)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [cleanText(name), cleanValue(member)]))
  }
  try {
    const value: unknown = JSON.parse(text)
    // Looking at each string takes a hundred times as long.
    if (!/[\\%&]/.test(text) && redact(text) === text) return text
    const clean = cleanValue(value)
    // Parsing rounds long numbers.
    const bare = text.replace(JSON_STRING, '""')
    if (hasSecretNumber || redact(bare) !== bare) return null
    return isChanged || strings < bare.split('""').length - 1 ? JSON.stringify(clean) : text
  } catch {
    return null
  }
}

const JSON_STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g

/** Makes a function that redacts the names and errors of a node's checks. */
export function createRedactLiveness(create: () => Redact): (liveness: Liveness) => Liveness {
  // Kept, because nearly all polls have the same names.
  let names: readonly string[] = []
  let cleanNames = names

  return (liveness) => {
    // Not kept for the next answer: with thousands of endpoints, all forms of all secrets take a lot of memory.
    let created: Redact | null = null
    const clean = (text: string) => (created ??= create())(wholeWords(text))
    const { checks } = liveness
    if (checks.length !== names.length || checks.some(({ name }, at) => name !== names[at])) {
      names = checks.map(({ name }) => name)
      const cleaned = names.map(clean)
      cleanNames = cleaned.every((name, at) => name === names[at]) ? names : cleaned
    }
    const redacted = checks.map((check, at) => {
      const name = cleanNames[at] as string
      const error = check.error === null ? null : clean(check.error)
      return name === check.name && error === check.error ? check : { ...check, name, error }
    })
    return redacted.every((check, at) => check === checks[at]) ? liveness : { ...liveness, checks: redacted }
  }
}

/** Drops the last word of a text that was truncated on reading, because half a secret at the cut would not be found. */
function wholeWords(text: string): string {
  return text.length < MAX_NODE_TEXT ? text : `${text.slice(0, text.lastIndexOf(' ') + 1)}…`
}

const REDACTED = '[redacted]'
/** Shorter parts of a URL (`v3`, `rpc`) are not keys, and redacting them would remove half of any response. */
const MIN_CHARACTERS = 4
/** Shorter parts would also be found in other texts. */
const MIN_BASE64_CHARACTERS = 8
/** Number of characters scanned for each character returned. */
const READ_AHEAD = 8
/** Length of the longest encoding of one character, `\\u0026#x41;`. */
const MAX_ENCODED_CHARACTERS = 12

function formsOf(secret: string): string[] {
  return [secret, decoded(secret)].flatMap((form) => {
    const bytes = Buffer.from(form)
    const encoded = ['base64', 'base64url', 'hex', 'latin1'] as const
    const whole = encoded.map((encoding) => bytes.toString(encoding).replace(/=+$/, ''))
    return [form, ...whole, ...partsInBase64(bytes)].map(lowerCase)
  })
}

/** How `bytes` look within a longer text in base64, without the characters that they share with their neighbours. */
function partsInBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
    const range = [Math.ceil((before * 8) / 6), Math.floor((text.length * 8) / 6)] as const
    const parts = (['base64', 'base64url'] as const).map((encoding) => text.toString(encoding).slice(...range))
    return parts.filter(({ length }) => length >= MIN_BASE64_CHARACTERS)
  })
}

type Range = readonly [start: number, end: number]

/** Finds the secrets in a text, plain or escaped in several layers. */
function findSecrets(text: string, forms: readonly string[]): Range[] {
  const ranges: Range[] = []
  let layer = text
  let sourceOf: (at: number) => number = (at) => at
  for (let depth = 0; depth < MAX_LAYERS; depth++) {
    const lower = lowerCase(layer)
    for (const form of forms) {
      for (let at = lower.indexOf(form); at !== -1; at = lower.indexOf(form, at + 1)) {
        ranges.push([sourceOf(at), sourceOf(at + form.length)])
      }
    }
    const inner = decodeLayer(layer)
    if (inner === null) break
    const outer = sourceOf
    const { starts } = inner
    sourceOf = (at) => outer(starts[at] as number)
    layer = inner.text
  }
  return ranges
}

const MAX_LAYERS = 5

/** A JSON, JavaScript, percent or HTML escape of one character; HTML may omit the semicolon after a number. */
const ESCAPE =
  /\\u([0-9a-f]{4})|(?:%|\\x)([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?|\\([^])|&(amp|lt|gt|quot|apos|sol);/gi
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/' }

/** Undoes one layer of escapes; `starts` maps each character of the result, and its end, to the given text. */
function decodeLayer(escaped: string): { readonly text: string; readonly starts: readonly number[] } | null {
  if (escaped.search(ESCAPE) === -1) return null
  const starts: number[] = []
  let text = ''
  let end = 0
  const copyTo = (next: number): void => {
    for (let at = end; at < next; at++) starts.push(at)
    text += escaped.slice(end, next)
  }
  for (const match of escaped.matchAll(ESCAPE)) {
    const [whole, unicode, percent, hex, decimal, backslashed, name] = match
    copyTo(match.index)
    end = match.index + whole.length
    const code = decimal === undefined ? Number.parseInt(unicode ?? percent ?? hex ?? '', 16) : Number(decimal)
    const character = backslashed ?? NAMED[name?.toLowerCase() ?? ''] ?? String.fromCharCode(code)
    starts.push(match.index)
    text += character
  }
  copyTo(escaped.length)
  starts.push(escaped.length)
  return { text, starts }
}

function removeRanges(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text
  let clean = ''
  let end = -1
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > end) clean += text.slice(Math.max(0, end), from) + REDACTED
    end = Math.max(end, to)
  }
  return clean + text.slice(end)
}

/** Changes ASCII letters only, because the lower case of some other letters has a different length. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
