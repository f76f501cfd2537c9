import { type ErrorCode, LineCounter, parseDocument, visit } from 'yaml'
import type { Problem } from './problem.ts'

/** Parses YAML to plain data, or returns every problem with its line but without the source that the parser quotes. */
export function parseYaml(
  text: string,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: readonly Problem[] } {
  try {
    const lineCounter = new LineCounter()
    const document = parseDocument(withoutBraces(text), {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      // A %YAML 1.1 directive would enable merge keys, sets, timestamps, and `yes` for true.
      version: '1.2',
      schema: 'core',
      merge: false,
      resolveKnownTags: false,
    })
    const problems = new Map<string, Problem>()
    for (const { code, pos } of [...document.errors, ...document.warnings]) {
      const { line, col } = lineCounter.linePos(pos[0])
      // The parser may report one mistake twice.
      problems.set(`${line} ${col} ${code}`, { path: `line ${line}, column ${col}`, message: MESSAGES[code] })
    }
    // One mistake often causes many follow-up errors, so only the first ones are shown.
    if (problems.size > 0) return { ok: false, problems: [...problems.values()].slice(0, SHOWN_PROBLEMS) }
    visit(document, {
      Scalar(_key, node) {
        if (typeof node.value === 'string') node.value = withBraces(node.value)
      },
    })
    return { ok: true, value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown }
  } catch (error) {
    // Only unresolved aliases, too many aliases, and nesting that exhausts the stack are reported by throwing.
    const unresolved = error instanceof ReferenceError && error.message.startsWith('Unresolved alias')
    const message = unresolved ? MESSAGES.BAD_ALIAS : 'nested too deeply, or too many aliases'
    return { ok: false, problems: [{ path: '', message }] }
  }
}

const SHOWN_PROBLEMS = 5

/**
 * YAML reads the brace of `${KEY}` in `{ x-api-key: ${KEY} }` as a mapping, so private-use characters replace the
 * braces, one for one, while YAML is parsed.
 */
function withoutBraces(text: string): string {
  return text.replace(/\$\{([^{}\n]*)\}/g, '\uE000\uE000$1\uE001')
}

function withBraces(text: string): string {
  return text.replace(/\uE000\uE000([^\uE001]*)\uE001/g, '${$1}')
}

/** Enough to share thresholds, too few for a "billion laughs" attack. */
const MAX_ALIASES = 100

const MESSAGES: Record<ErrorCode, string> = {
  ALIAS_PROPS: 'an alias can have neither anchor nor tag',
  BAD_ALIAS: 'an alias without its anchor (quote text that begins with *)',
  BAD_COLLECTION_TYPE: 'a tag of the wrong type',
  BAD_DIRECTIVE: 'an unknown % directive',
  BAD_DQ_ESCAPE: 'an unknown \\ escape in double quotes (single quotes take \\ as it is)',
  BAD_INDENT: 'wrong indentation',
  BAD_PROP_ORDER: 'a misplaced anchor or tag',
  BAD_SCALAR_START: 'quote text that begins with this character',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping inside a mapping on one line',
  BLOCK_IN_FLOW: 'an indented block inside brackets',
  DUPLICATE_KEY: 'this key is given twice',
  IMPOSSIBLE: 'not YAML',
  KEY_OVER_1024_CHARS: 'a key longer than 1024 characters (a missing line break?)',
  MISSING_CHAR: 'a closing quote, bracket, comma or colon is missing',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines (a missing colon?)',
  MULTIPLE_ANCHORS: 'two anchors on one node',
  MULTIPLE_DOCS: 'a second document: one file holds one configuration',
  MULTIPLE_TAGS: 'two tags on one node',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'a tab as indentation: use spaces',
  TAG_RESOLVE_FAILED: 'an unknown tag (quote text that begins with !)',
  UNEXPECTED_TOKEN: 'unexpected text (a missing quote or line break?)',
}
