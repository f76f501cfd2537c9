/** No check needs more: the fullest block without its transactions is some 100 kB. Applies before and after decoding. */
export const MAX_ANSWER_BYTES = 1_048_576

/** Node's own default. */
export const MAX_HEADER_BYTES = 16_384

/** For forwarded requests: the fullest block with its transactions and traces is some 10 MB. */
export const MAX_FORWARDED_BYTES = 33_554_432

/** All bodies longer than `UNBUDGETED_BYTES` together, while they are being received. */
export const MAX_INCOMING_BYTES = 536_870_912

/** Bodies up to this size need no share of the budget. */
export const UNBUDGETED_BYTES = 1_048_576

/** Shared by the long bodies of all nodes: 32 MiB for each of a hundred requests at once would exhaust the daemon's memory. */
export class MemoryBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False if the budget has no room for this many more bytes. */
  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}
