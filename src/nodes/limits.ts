/** No check needs more: a full block without transactions has about 100 kB. Applies before and after decoding. */
export const MAX_ANSWER_BYTES = 1_048_576

/** The default of Node.js. */
export const MAX_HEADER_BYTES = 16_384

/** For forwarded requests: the largest block with its transactions and traces has about 10 MB. */
export const MAX_FORWARDED_BYTES = 33_554_432

/** Shared limit of all bodies longer than `UNBUDGETED_BYTES` while they are being received. */
export const MAX_INCOMING_BYTES = 536_870_912

/** Bodies up to this size do not count against the budget. */
export const UNBUDGETED_BYTES = 1_048_576

/**
 * Limits the connections to all origins together, beyond a few that each one may always have: one whose calls hang must not
 * take the connections to others.
 */
export class ConnectionBudget {
  readonly #max: number
  #perOrigin = Number.POSITIVE_INFINITY
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Half of the limit is for connections that any origin may have. */
  divide(origins: number): void {
    this.#perOrigin = Math.max(FEWEST_CONNECTIONS, Math.floor(this.#max / 2 / Math.max(1, origins)))
  }

  /** Whether an origin with this number of connections may have another one. */
  allows(connections: number): boolean {
    return connections < this.#perOrigin || this.#count < this.#max / 2
  }

  opened(): void {
    this.#count++
  }

  closed(): void {
    this.#count--
  }
}

const FEWEST_CONNECTIONS = 2

/** Limits the memory of all long bodies together: a hundred bodies of 32 MiB would exhaust the daemon's memory. */
export class MemoryBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns false if fewer bytes are left. */
  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}
