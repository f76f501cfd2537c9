/**
 * Memory for long answers while they come in, of all nodes together: a node may send 32 MiB to each of a hundred requests at once,
 * and must not take the daemon with it.
 */
export class MemoryBudget {
  readonly #mostBytes: number
  #takenBytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Whether there is so much left; then it is taken. */
  take(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.#mostBytes) return false
    this.#takenBytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#takenBytes -= bytes
  }
}
