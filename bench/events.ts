/** What is to happen, in the order of time: a binary heap. */
export interface Events {
  /** `run` says whether it settles promises. */
  push(at: number, run: () => boolean): void
  pop(): Event | undefined
}

export interface Event {
  readonly at: number
  readonly run: () => boolean
}

export function createEvents(): Events {
  const heap: Event[] = []
  const dueAt = (place: number) => heap[place]?.at ?? Number.POSITIVE_INFINITY

  return {
    push(at, run) {
      let place = heap.length
      while (place > 0) {
        const above = (place - 1) >> 1
        const parent = heap[above]
        if (parent === undefined || parent.at <= at) break
        heap[place] = parent
        place = above
      }
      heap[place] = { at, run }
    },

    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (first === undefined || last === undefined || heap.length === 0) return first
      let place = 0
      for (let child = 1; child < heap.length; child = 2 * place + 1) {
        if (dueAt(child + 1) < dueAt(child)) child++
        const below = heap[child]
        if (below === undefined || below.at >= last.at) break
        heap[place] = below
        place = child
      }
      heap[place] = last
      return first
    },
  }
}
