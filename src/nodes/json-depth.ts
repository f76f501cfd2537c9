/** No honest answer nests deeper: a block has 4 levels, a health reply 8. */
export const MAX_DEPTH = 64

const QUOTE = 34
const BRACKET = 91
const BACKSLASH = 92
const BRACKET_END = 93
const BRACE = 123
const BRACE_END = 125

/**
 * Whether a JSON text nests deeper than `limit`, told without parsing it. Texts that hold at most `limit` opening brackets, which
 * is to say nearly all, are let through after two searches; only the others are walked.
 */
export function nestsDeeper(text: string, limit: number): boolean {
  return hasMoreOpenings(text, limit) && walksDeeper(text, limit)
}

function hasMoreOpenings(text: string, limit: number): boolean {
  let count = 0
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) if (++count > limit) return true
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) if (++count > limit) return true
  return false
}

function walksDeeper(text: string, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) inString = !inString
    else if (inString) {
      // Whatever comes after it is no end of the string.
      if (code === BACKSLASH) at++
    } else if (code === BRACE || code === BRACKET) {
      if (++depth > limit) return true
    } else if (code === BRACE_END || code === BRACKET_END) depth--
  }
  return false
}
