/** No honest answer nests deeper: a block has 4 levels, a health reply 8. */
export const MAX_DEPTH = 64

const QUOTE = 34
const BACKSLASH = 92

/**
 * Whether a JSON text nests deeper than `limit`, told without parsing it. Texts that hold at most `limit` opening brackets, which
 * is to say nearly all, are let through after two searches; the others are walked, strings leapt over.
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
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 123: // {
      case 91: // [
        if (++depth > limit) return true
        break
      case 125: // }
      case 93: // ]
        depth--
        break
      case QUOTE:
        at = endOfString(text, at)
        break
    }
  }
  return false
}

/** The index of the closing quote of the string that opens at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
  }
  return text.length
}
