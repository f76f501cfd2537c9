import type { ServerResponse } from 'node:http'

export type AnswerMemory = ReturnType<typeof createAnswerMemory>

export interface BatchMemory {
  /** Counts an answer of the batch; `false` if it exceeds the limit of the batch, of its caller, or the total. */
  take(bytes: number, method: string): boolean
  /** Whether an answer to this method exceeded a limit: another one would be discarded. */
  hasRefused(method: string): boolean
  /** The batch was written or abandoned. */
  release(): void
}

export interface AnswerMemoryLimits {
  readonly maxBytes?: number
  readonly maxBatchBytes?: number
}

const MAX_BYTES = 512 * 2 ** 20
const MAX_BATCH_BYTES = 64 * 2 ** 20
/** The kernel takes as much at once. */
const LARGE_BYTES = 65_536

interface UnreadAnswer {
  readonly caller: string
  readonly bytes: number
}

/**
 * Limits the memory of answers not yet delivered: elements of unfinished batches and large unread answers. Beyond the
 * limit, disconnects the slowest reader of the caller that holds most; for a batch, only readers of its own caller and of those
 * that hold more.
 */
export function createAnswerMemory({ maxBytes = MAX_BYTES, maxBatchBytes = MAX_BATCH_BYTES }: AnswerMemoryLimits = {}) {
  /** The oldest first. */
  const unread = new Map<ServerResponse, UnreadAnswer>()
  /** Unread answers and batches. */
  const heldByCaller = new Map<string, number>()
  const batchesByCaller = new Map<string, number>()
  let total = 0
  let ofBatches = 0

  function count(caller: string, bytes: number): void {
    total += bytes
    add(heldByCaller, caller, bytes)
  }

  const heldBy = (caller: string) => heldByCaller.get(caller) ?? 0

  function forget(res: ServerResponse): void {
    const answer = unread.get(res)
    if (answer === undefined) return
    unread.delete(res)
    count(answer.caller, -answer.bytes)
  }

  /** Disconnects slow readers that `mayLose` selects, until `bytes` more fit. */
  function makeRoom(bytes: number, mayLose: (res: ServerResponse, caller: string) => boolean): boolean {
    for (;;) {
      if (total + bytes <= maxBytes) return true
      const slowest = slowestReader(mayLose)
      if (slowest === null) return false
      forget(slowest)
      slowest.destroy()
    }
  }

  function slowestReader(mayLose: (res: ServerResponse, caller: string) => boolean): ServerResponse | null {
    let found: ServerResponse | null = null
    let most = 0
    for (const [res, { caller }] of unread) {
      const bytes = heldBy(caller)
      if (bytes <= most || !mayLose(res, caller)) continue
      found = res
      most = bytes
    }
    return found
  }

  return {
    /**
     * `isOnly` if no other caller is configured: then its batches may use everything. Otherwise they may hold as much as all
     * batches leave free: of one caller half, of two a third each, so that some is left for the next.
     */
    openBatch(caller: string, isOnly: boolean): BatchMemory {
      let held = 0
      let isOpen = true
      const refused = new Set<string>()
      const hold = (bytes: number) => {
        held += bytes
        ofBatches += bytes
        count(caller, bytes)
        add(batchesByCaller, caller, bytes)
      }
      const fits = (bytes: number) => {
        if (!isOpen || held + bytes > maxBatchBytes) return false
        const ofCaller = (batchesByCaller.get(caller) ?? 0) + bytes
        if (!isOnly && ofCaller > maxBytes - ofBatches - bytes) return false
        return makeRoom(bytes, (_, other) => other === caller || heldBy(other) > heldBy(caller))
      }
      return {
        take(bytes, method) {
          const isFitting = fits(bytes)
          if (isFitting) hold(bytes)
          else refused.add(method)
          return isFitting
        },
        hasRefused: (method) => refused.has(method),
        release() {
          isOpen = false
          hold(-held)
        },
      }
    },

    /** Counts a written answer until its response is closed. */
    written(res: ServerResponse, caller: string, bytes: number): void {
      if (bytes < LARGE_BYTES || res.destroyed) return
      unread.set(res, { caller, bytes })
      count(caller, bytes)
      res.once('close', () => forget(res))
      makeRoom(0, (other) => other !== res)
    },
  }
}

function add(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes
  if (sum === 0) sums.delete(name)
  else sums.set(name, sum)
}
