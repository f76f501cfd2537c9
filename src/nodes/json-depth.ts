/** Real responses nest less deeply: a block has 4 levels, a health reply 8. */
export const MAX_DEPTH = 64

/** Whether a JSON text nests deeper than `limit`, without parsing it. Most texts are decided by counting brackets. */
export function nestsDeeper(text: Buffer, limit: number): boolean {
  if (!hasMoreBrackets(text, limit)) return false
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text[at]
    if (code === QUOTE) inString = !inString
    else if (inString) {
      // The escaped character does not end the string.
      if (code === BACKSLASH) at++
    } else if (code === BRACE || code === BRACKET) {
      if (++depth > limit) return true
    } else if (code === BRACE_END || code === BRACKET_END) depth--
  }
  return false
}

function hasMoreBrackets(text: Buffer, limit: number): boolean {
  let count = 0
  for (const bracket of [BRACE, BRACKET])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (++count > limit) return true
  return false
}

/** Other text than an object or array, such as an HTML page, is not parsed, so its nesting does not matter. */
export function beginsWithBracket(text: Buffer): boolean {
  const first = text.find((code) => !BLANKS.has(code))
  return first === BRACE || first === BRACKET
}

const BLANKS: ReadonlySet<number> = new Set([9, 10, 13, 32])

const QUOTE = 34
const BRACKET = 91
const BACKSLASH = 92
const BRACKET_END = 93
const BRACE = 123
const BRACE_END = 125
