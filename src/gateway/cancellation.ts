/**
 * Whether somebody still waits for the answer. An AbortSignal is one; `createPresence` makes one that costs next to nothing, where a
 * signal takes 4 microseconds to make, a tenth of a whole request.
 */
export interface Cancellation {
  readonly aborted: boolean
  addEventListener(type: 'abort', task: () => void): void
  removeEventListener(type: 'abort', task: () => void): void
}

export interface OwnCancellation extends Cancellation {
  /** The caller is gone: tells everybody who listens, once. */
  abort(): void
}

export function createCancellation(): OwnCancellation {
  return new PlainPresence()
}

class PlainPresence implements OwnCancellation {
  aborted = false
  #tasks: (() => void)[] | null = null

  addEventListener(_type: 'abort', task: () => void): void {
    if (this.#tasks === null) this.#tasks = [task]
    else this.#tasks.push(task)
  }

  removeEventListener(_type: 'abort', task: () => void): void {
    const at = this.#tasks?.indexOf(task) ?? -1
    if (at !== -1) this.#tasks?.splice(at, 1)
  }

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    const tasks = this.#tasks
    this.#tasks = null
    for (const task of tasks ?? []) task()
  }
}
