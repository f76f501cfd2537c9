/** Reading what a node sent: hostile until proven otherwise. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `undefined` for what is no JSON: no JSON text means undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Everything that a terminal, a log or a page could stumble over: controls, separators, direction marks, lone surrogates. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu
const PLAIN = /^[\x20-\x7e]*$/
const LONGEST = 256

/** A node's own words, fit to be stored and shown: printable, at most 256 characters. */
export function printable(text: string): string {
  const short = text.length > LONGEST ? text.slice(0, LONGEST) : text
  return PLAIN.test(short) ? short : short.replace(UNPRINTABLE, '\ufffd')
}
