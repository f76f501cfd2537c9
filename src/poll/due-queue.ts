import { createTokenBucket } from '../core/token-bucket.ts'

/** Holds the items of a schedule until they are due, and releases them at a limited pace. */
export function createDueQueue<T>() {
  const heap = createHeap<T>()
  const starts = createTokenBucket(SMALLEST_BURST, 0, 0)
  /** By group: the items of a group share all limits. */
  const waiting = new Map<string, T[]>()

  return {
    /** Limits how many items are taken per millisecond, however many are due at once. */
    setPace(perMs: number, now: number): void {
      starts.configure(Math.max(SMALLEST_BURST, perMs * BURST_MS), perMs, now)
    },

    add(due: number, item: T): void {
      heap.push(due, item)
    },

    /** Takes the due items that the pace allows. `take` returns false for an item that the pace does not count. */
    takeDue(now: number, take: (item: T, due: number) => boolean): void {
      for (let next = heap.peek(); next !== undefined && next.due <= now; next = heap.peek()) {
        if (starts.waitMs(1, now) > 0) return
        heap.pop()
        if (take(next.item, next.due)) starts.take(1)
      }
    },

    /** Holds an item whose turn has come until a poll is free. */
    wait(item: T, group: string): void {
      const items = waiting.get(group)
      if (items === undefined) waiting.set(group, [item])
      else items.push(item)
    },

    /** Offers the waiting items, first come first served within a group; a group without room costs one look. */
    retryWaiting(start: (item: T) => Taken): void {
      let groupsLeft = waiting.size
      for (const [group, items] of waiting) {
        // What comes now was moved to the end in this pass.
        if (groupsLeft-- === 0) return
        let kept = 0
        let seen = 0
        let taken: Taken = 'done'
        for (; seen < items.length; seen++) {
          const item = items[seen] as T
          taken = start(item)
          if (taken === 'group-full' || taken === 'all-full') break
          if (taken === 'busy') items[kept++] = item
        }
        if (seen > kept) {
          items.splice(kept, seen - kept)
          // The other groups come first next time.
          waiting.delete(group)
          if (items.length > 0) waiting.set(group, items)
        }
        if (taken === 'all-full') return
      }
    },

    /** The item that is due first, waiting ones left out. */
    first: (): T | undefined => heap.peek()?.item,
    nextAt: (now: number): number =>
      Math.max(now + starts.waitMs(1, now), heap.peek()?.due ?? Number.POSITIVE_INFINITY),
    clear(): void {
      heap.clear()
    },
  }
}

/** `busy`: this item must keep waiting; `…-full`: so must all others of its group, or all others. */
export type Taken = 'done' | 'busy' | 'group-full' | 'all-full'

/** This many items can be taken at once, whatever the pace. */
const SMALLEST_BURST = 8
/** At a fast pace, all items that are due within this time can be taken at once. */
const BURST_MS = 50

/** A min-heap: a push or pop takes at most about 14 swaps with ten thousand items. */
function createHeap<T>() {
  const heap: { due: number; item: T }[] = []
  const dueAt = (at: number): number => heap[at]?.due ?? Number.POSITIVE_INFINITY

  function swap(a: number, b: number): void {
    const held = heap[a] as { due: number; item: T }
    heap[a] = heap[b] as { due: number; item: T }
    heap[b] = held
  }

  return {
    peek: (): { readonly due: number; readonly item: T } | undefined => heap[0],

    push(due: number, item: T): void {
      let at = heap.push({ due, item }) - 1
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (dueAt(parent) <= due) break
        swap(at, parent)
        at = parent
      }
    },

    pop(): void {
      const last = heap.pop()
      if (heap.length === 0 || last === undefined) return
      heap[0] = last
      let at = 0
      for (;;) {
        const left = 2 * at + 1
        const smaller = dueAt(left + 1) < dueAt(left) ? left + 1 : left
        if (dueAt(smaller) >= last.due) break
        swap(at, smaller)
        at = smaller
      }
    },

    clear(): void {
      heap.length = 0
    },
  }
}
