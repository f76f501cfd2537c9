import type { ServerResponse } from 'node:http'

/** Large answers that their callers have not taken yet, of all callers together. */
export interface SlowReaders {
  /** This answer has been written. Where there are too many bytes now, those who have been at theirs for longest are cut off. */
  add(res: ServerResponse, bytes: number): void
}

/** Whoever asks for blocks and reads none of them holds the memory that they take, and a thousand of them would take all. */
export function createSlowReaders(mostBytes: number): SlowReaders {
  const waiting = new Map<ServerResponse, number>()
  let total = 0

  function forget(res: ServerResponse): void {
    total -= waiting.get(res) ?? 0
    waiting.delete(res)
  }

  return {
    add(res, bytes) {
      if (bytes < LARGE_BYTES || res.destroyed) return
      waiting.set(res, bytes)
      total += bytes
      res.once('close', () => forget(res))
      for (const oldest of waiting.keys()) {
        if (total <= mostBytes || oldest === res) return
        forget(oldest)
        oldest.destroy()
      }
    },
  }
}

/** The kernel takes as much at once. */
const LARGE_BYTES = 65_536
