import type { Client } from 'pg'

/** An advisory lock that a connection of its own holds as long as it lives. */
export function createSessionLock(newClient: () => Client) {
  let client: Client | null = null
  let wanted: { readonly lock: number; readonly onLost: () => void } | null = null
  let taking: Promise<boolean> | null = null
  let closed = false

  function drop(ended: Client): void {
    const wasHeld = client === ended
    if (wasHeld) client = null
    void ended.end().catch(() => undefined)
    if (wasHeld && !closed) wanted?.onLost()
  }

  async function connectAndTake(lock: number): Promise<boolean> {
    const fresh = newClient()
    fresh.on('error', () => drop(fresh))
    fresh.on('end', () => drop(fresh))
    try {
      await fresh.connect()
      const { rows } = await fresh.query<{ isMine: boolean }>('SELECT pg_try_advisory_lock($1) AS "isMine"', [lock])
      if (rows[0]?.isMine === true && !closed) client = fresh
      else drop(fresh)
    } catch (error) {
      drop(fresh)
      throw error
    }
    return client === fresh
  }

  /** One at a time: two connections of this process would compete for the lock. */
  function take(lock: number): Promise<boolean> {
    taking ??= connectAndTake(lock).finally(() => {
      taking = null
    })
    return taking
  }

  /** A connection that died without a word, which the server may have noticed, has no lock any more. */
  async function isHeld(): Promise<boolean> {
    const asked = client
    if (asked === null) return false
    try {
      await asked.query({ text: 'SELECT 1', query_timeout: ANSWER_WITHIN_MS } as { text: string })
    } catch {
      drop(asked)
    }
    return client !== null
  }

  return {
    /** Whether no other session has it. `onLost`: its connection has ended, and another session may have it now. */
    async hold(lock: number, onLost: () => void): Promise<boolean> {
      wanted = { lock, onLost }
      return (await isHeld()) || take(lock)
    },

    /** Another server is used from now on: the lock has to be taken there. */
    moved(): void {
      if (client !== null) drop(client)
    },

    /** Notices a lost connection, and takes the lock again. */
    async keep(): Promise<void> {
      if (wanted === null || closed || (await isHeld())) return
      await take(wanted.lock).catch(() => undefined)
    },

    async close(): Promise<void> {
      closed = true
      const open = client
      client = null
      await open?.end().catch(() => undefined)
    },
  }
}

const ANSWER_WITHIN_MS = 3000
