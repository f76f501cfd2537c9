import { nothing } from '../../web/views/lit.ts'

/**
 * Renders lit-html templates as text, so that the daemon and the browser draw the same views. Escapes values, and
 * ignores listeners and properties. Throws for a value that cannot be escaped: in a comment, script, style or tag name.
 */
export function templateText(value: unknown): string {
  const pieces: string[] = []
  write(value, pieces)
  return pieces.join('')
}

interface Template {
  readonly _$litType$: number
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
}

interface Directive {
  readonly _$litDirective$: new (part: { readonly type: number }) => { render(...values: readonly unknown[]): unknown }
  readonly values: readonly unknown[]
}

/** lit-html's constant for a value between tags. */
const CHILD_PART = 2

function write(value: unknown, pieces: string[]): void {
  if (value === null || value === undefined || value === nothing || value === '') return
  if (isPlain(value)) return void pieces.push(escaped(String(value)))
  if (typeof value !== 'object') throw new TypeError('a template holds a function')
  if (Array.isArray(value)) {
    for (const one of value) write(one, pieces)
    return
  }
  if ('_$litType$' in value) return writeTemplate(value as Template, pieces)
  if ('_$litDirective$' in value) {
    const { _$litDirective$: Kind, values } = value as Directive
    return write(new Kind({ type: CHILD_PART }).render(...values), pieces)
  }
  throw new TypeError('a template holds an object that is not a template')
}

type Plain = string | number | boolean | bigint

function isPlain(value: unknown): value is Plain {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value)
}

function attributeText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (!isPlain(value)) throw new TypeError('an attribute holds a value that is not text')
  return escaped(String(value))
}

/** The text before a value, and how the value is written. */
interface Step {
  readonly text: string
  readonly kind: 'child' | 'attribute' | 'flag' | 'ignored'
  /** For an attribute: its name and the text before its first value; `null` from its second value on. */
  readonly opens: string | null
  /** For an attribute: the text after its last value; `null` before that. */
  readonly closes: string | null
}

interface Plan {
  readonly steps: readonly Step[]
  readonly end: string
}

const plans = new WeakMap<readonly string[], Plan>()

function writeTemplate({ strings, values }: Template, pieces: string[]): void {
  let plan = plans.get(strings)
  if (plan === undefined) {
    plan = planOf(strings)
    plans.set(strings, plan)
  }
  let attribute = ''
  let isRemoved = false
  for (const [at, { text, kind, opens, closes }] of plan.steps.entries()) {
    const value = values[at]
    switch (kind) {
      case 'child':
        pieces.push(text)
        write(value, pieces)
        break
      case 'flag':
        pieces.push(text)
        if (value !== nothing && Boolean(value)) pieces.push(opens ?? '')
        break
      case 'ignored':
        pieces.push(text)
        break
      case 'attribute':
        if (opens === null) attribute += text
        else {
          pieces.push(text)
          attribute = opens
          isRemoved = false
        }
        // As in the browser, one value `nothing` removes the whole attribute.
        if (value === nothing) isRemoved = true
        else attribute += attributeText(value)
        if (closes !== null && !isRemoved) pieces.push(attribute, closes)
        break
    }
  }
  pieces.push(plan.end)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escaped(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '') : text
}

const ATTRIBUTE = /(\s+)([.?@]?)([^\s"'>=/]+)\s*=\s*("[^"]*|'[^']*|)$/

/** Parses a template once: the position of each value decides how it is written. */
function planOf(strings: readonly string[]): Plan {
  const steps: Step[] = []
  /** The quote around the previous value; a space for an unquoted one. */
  let quote: string | null = null
  let inTag = false
  let rest = ''
  for (const [at, string] of strings.entries()) {
    let text = string
    if (quote !== null) {
      const end = quote === ' ' ? 0 : text.indexOf(quote)
      const last = steps.pop()
      if (last === undefined) throw new TypeError('an attribute has no value')
      if (end === -1) {
        // The attribute has another value.
        steps.push(last, { text: text, kind: 'attribute', opens: null, closes: null })
        continue
      }
      if (last.kind === 'attribute') steps.push({ ...last, closes: `${text.slice(0, end)}"` })
      else steps.push(last)
      text = quote === ' ' ? text : text.slice(end + 1)
      quote = null
    }
    inTag = endsInTag(text, inTag)
    rest = compact(text)
    if (at === strings.length - 1) break
    if (!inTag) {
      steps.push({ text: rest, kind: 'child', opens: null, closes: null })
      continue
    }
    const found = ATTRIBUTE.exec(text)
    if (found === null) throw new TypeError('a value is inside a tag, but not in an attribute')
    const [whole, space = '', sign = '', name = '', opening = ''] = found
    const before = compact(text.slice(0, text.length - whole.length))
    quote = opening === '' ? ' ' : (opening[0] ?? ' ')
    if (sign === '') {
      steps.push({
        text: before,
        kind: 'attribute',
        opens: `${space === '' ? '' : ' '}${name}="${opening.slice(1)}`,
        closes: null,
      })
    } else {
      steps.push({ text: before, kind: sign === '?' ? 'flag' : 'ignored', opens: ` ${name}=""`, closes: null })
    }
  }
  return { steps, end: rest }
}

const EMPTY_TEXTAREA = /^<textarea[^<>]*><\/textarea>/i

/** Whether a value after this text would be inside a tag. */
function endsInTag(text: string, startsInTag: boolean): boolean {
  let inTag = startsInTag
  let at = 0
  while (at < text.length) {
    if (inTag) {
      const found = /["'>]/g
      found.lastIndex = at
      const next = found.exec(text)
      if (next === null) return true
      if (next[0] === '>') inTag = false
      else {
        const closing = text.indexOf(next[0], next.index + 1)
        if (closing === -1) return true
        at = closing + 1
        continue
      }
      at = next.index + 1
      continue
    }
    const opening = text.indexOf('<', at)
    if (opening === -1) return false
    const empty = EMPTY_TEXTAREA.exec(text.slice(opening))
    if (empty !== null) {
      at = opening + empty[0].length
      continue
    }
    if (/^<(!--|script|style|textarea|title)/i.test(text.slice(opening, opening + 10))) {
      throw new TypeError('a view holds a comment, or an element whose text is not HTML')
    }
    inTag = true
    at = opening + 1
  }
  return inTag
}

/** Drops indentation between tags, as `scripts/page.mjs` does; elsewhere it becomes a line break. */
function compact(text: string): string {
  return text.replace(/>\s*\n\s*</g, '><').replace(/\s*\n\s*/g, '\n')
}
