const inspected = Symbol.for('nodejs.util.inspect.custom')
const REDACTED = '[redacted]'

/** A value that no log, page, metric, error or row may hold: it prints as `[redacted]` however it is printed. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself: only for the wire, and for comparing. */
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
