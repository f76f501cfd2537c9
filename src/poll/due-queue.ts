/** A min-heap of what is due next: ten thousand items cost fourteen comparisons. */
export interface DueQueue<T> {
  readonly size: number
  peek(): { readonly due: number; readonly item: T } | undefined
  push(due: number, item: T): void
  pop(): { readonly due: number; readonly item: T } | undefined
  clear(): void
}

export function createDueQueue<T>(): DueQueue<T> {
  const heap: { due: number; item: T }[] = []

  function swap(a: number, b: number): void {
    const held = heap[a] as { due: number; item: T }
    heap[a] = heap[b] as { due: number; item: T }
    heap[b] = held
  }

  const dueAt = (at: number): number => heap[at]?.due ?? Number.POSITIVE_INFINITY

  return {
    get size() {
      return heap.length
    },
    peek: () => heap[0],

    push(due, item) {
      let at = heap.push({ due, item }) - 1
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (dueAt(parent) <= due) break
        swap(at, parent)
        at = parent
      }
    },

    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (heap.length > 0 && last !== undefined) {
        heap[0] = last
        let at = 0
        for (;;) {
          const left = 2 * at + 1
          const smaller = dueAt(left + 1) < dueAt(left) ? left + 1 : left
          if (dueAt(smaller) >= last.due) break
          swap(at, smaller)
          at = smaller
        }
      }
      return first
    },

    clear: () => {
      heap.length = 0
    },
  }
}
