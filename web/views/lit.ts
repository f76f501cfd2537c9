/** HTML with values, as a view draws it. The daemon writes it as text (src/http/template-text.ts), the browser as elements (web/render.ts). */
export interface TemplateResult {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  /** The content of an `<svg>`. */
  readonly isSvg: boolean
}

export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): TemplateResult {
  return { strings, values, isSvg: false }
}

export function svg(strings: TemplateStringsArray, ...values: readonly unknown[]): TemplateResult {
  return { strings, values, isSvg: true }
}

/** No text between tags; as (part of) the value of an attribute, no attribute. */
export const nothing = Symbol('nothing')

/** A part that is drawn again only after one of the given values has changed. */
export interface Guarded {
  readonly guards: readonly unknown[]
  readonly draw: () => unknown
}

export function guard(guards: readonly unknown[], draw: () => unknown): Guarded {
  return { guards, draw }
}

/** A list whose elements keep their element, wherever they move. */
export interface Keyed {
  readonly keys: readonly unknown[]
  readonly items: readonly unknown[]
}

/** No two items of a list have the same key. */
export function repeat<T>(of: readonly T[], keyOf: (one: T) => unknown, draw: (one: T, at: number) => unknown): Keyed {
  return { keys: of.map((one) => keyOf(one)), items: of.map((one, at) => draw(one, at)) }
}
