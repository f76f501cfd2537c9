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
