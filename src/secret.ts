const inspected = Symbol.for('nodejs.util.inspect.custom')
const REDACTED = '[redacted]'

/** A value that must not appear in any log, page, metric, error or row: it always prints as `[redacted]`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself, for requests and comparisons only. */
  reveal(): string {
    return this.#value
  }

  equals(other: Secret | null): boolean {
    return other !== null && other.#value === this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspected](): string {
    return REDACTED
  }
}

/** Whether two parts of a configuration say the same, secrets included. */
export function sameValues(a: unknown, b: unknown): boolean {
  if (a instanceof Secret || b instanceof Secret) return a instanceof Secret && b instanceof Secret && a.equals(b)
  if (!isObject(a) || !isObject(b)) return a === b
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameValues(a[key], b[key]))
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
