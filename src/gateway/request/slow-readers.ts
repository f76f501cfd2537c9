import type { ServerResponse } from 'node:http'

/**
 * Limits the memory of large answers that callers have not read yet: a thousand callers that ask for blocks and read none of them must
 * not exhaust it.
 */
export interface SlowReaders {
  /** An answer was written. Beyond the limit, the connections that have been reading for longest are closed. */
  add(res: ServerResponse, bytes: number): void
}

export function createSlowReaders(maxBytes: number): SlowReaders {
  const unread = new Map<ServerResponse, number>()
  let total = 0

  function forget(res: ServerResponse): void {
    total -= unread.get(res) ?? 0
    unread.delete(res)
  }

  return {
    add(res, bytes) {
      if (bytes < LARGE_BYTES || res.destroyed) return
      unread.set(res, bytes)
      total += bytes
      res.once('close', () => forget(res))
      for (const oldest of unread.keys()) {
        if (total <= maxBytes || oldest === res) return
        forget(oldest)
        oldest.destroy()
      }
    },
  }
}

/** The kernel takes as much at once. */
const LARGE_BYTES = 65_536
