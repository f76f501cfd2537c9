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
