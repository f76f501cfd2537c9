/**
 * Divides a limited resource between callers so that small callers do not wait for large ones: a caller may hold half
 * of it, and the last eighth is for callers that hold at most a sixteenth. A `null` caller may take everything.
 */
export class FairShare {
  readonly #held = new Map<string, number>()
  #total = 0
  max: number
  /** Replaces the limit of half, if set. */
  maxOfOne: number | null = null

  constructor(max: number) {
    this.max = max
  }

  get total(): number {
    return this.#total
  }

  heldBy(caller: string | null): number {
    return caller === null ? 0 : (this.#held.get(caller) ?? 0)
  }

  mayTake(caller: string | null, amount = 1): boolean {
    const { max } = this
    if (this.#total + amount > max) return false
    if (caller === null) return true
    const held = this.heldBy(caller) + amount
    if (held > Math.max(1, this.maxOfOne ?? Math.floor(max / 2))) return false
    return this.#total + amount <= max - Math.floor(max / 8) || held <= Math.max(1, Math.floor(max / 16))
  }

  /** Takes without a check: call `mayTake` first. */
  take(caller: string | null, amount = 1): void {
    this.#total += amount
    if (caller !== null) this.#held.set(caller, this.heldBy(caller) + amount)
  }

  release(caller: string | null, amount = 1): void {
    this.#total -= amount
    if (caller === null) return
    const left = this.heldBy(caller) - amount
    if (left === 0) this.#held.delete(caller)
    else this.#held.set(caller, left)
  }
}

/** Waiting requests, served round-robin by caller. */
export class FairQueue<T> {
  /** The next caller comes first. */
  readonly #byCaller = new Map<string | null, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(caller: string | null, item: T): void {
    const items = this.#byCaller.get(caller)
    if (items === undefined) this.#byCaller.set(caller, new Set([item]))
    else items.add(item)
    this.#size++
  }

  has(caller: string | null): boolean {
    return this.#byCaller.has(caller)
  }

  /** Returns whether the item was waiting. */
  delete(item: T): boolean {
    for (const [caller, items] of this.#byCaller) {
      if (!items.delete(item)) continue
      this.#size--
      if (items.size === 0) this.#byCaller.delete(caller)
      return true
    }
    return false
  }

  /** Removes and returns the next item of a caller that may be served; `null` if there is none. */
  next(mayServe: (caller: string | null) => boolean): { readonly caller: string | null; readonly item: T } | null {
    for (const [caller, items] of this.#byCaller) {
      if (!mayServe(caller)) continue
      for (const item of items) {
        items.delete(item)
        this.#size--
        this.#byCaller.delete(caller)
        if (items.size > 0) this.#byCaller.set(caller, items)
        return { caller, item }
      }
    }
    return null
  }

  drain(): T[] {
    const items = [...this.#byCaller.values()].flatMap((each) => [...each])
    this.#byCaller.clear()
    this.#size = 0
    return items
  }
}
