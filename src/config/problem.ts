/** One mistake in a configuration. Never contains a configured value. */
export interface Problem {
  /** A key path (`networks[1].endpoints[0].url`), a position (`line 3, column 5`), or empty for the whole file. */
  readonly path: string
  readonly message: string
}

/** A key path in parts, as zod returns it. */
export type Path = readonly PropertyKey[]

/** One line for people: `heartline.yaml: networks[1].endpoints[0].url: expected an http(s) URL`. */
export function formatProblem(file: string, { path, message }: Problem): string {
  return path === '' ? `${file}: ${message}` : `${file}: ${path}: ${message}`
}

// Only keys that look like words are shown, because a secret may be written in place of a key by mistake.
const WORDS = /^[A-Za-z]{1,20}(?:[_-][A-Za-z]{1,20}){0,4}$/

function safeKey(key: PropertyKey): string | null {
  return typeof key === 'string' && key.length <= 40 && WORDS.test(key) ? key : null
}

export function formatPath(path: Path): string {
  return path.reduce<string>((text, piece) => {
    if (typeof piece === 'number') return `${text}[${piece}]`
    return `${text}${text === '' ? '' : '.'}${safeKey(piece) ?? '*'}`
  }, '')
}
