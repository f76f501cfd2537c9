import type { Client } from 'pg'

/** An advisory lock that a connection of its own holds as long as it lives. */
export function createSessionLock(newClient: () => Client) {
  let client: Client | null = null
  let wanted: number | null = null
  let closed = false

  async function take(lock: number): Promise<boolean> {
    const fresh = newClient()
    const drop = () => {
      if (client === fresh) client = null
      void fresh.end().catch(() => undefined)
    }
    fresh.on('error', drop)
    await fresh.connect()
    const { rows } = await fresh.query<{ isMine: boolean }>('SELECT pg_try_advisory_lock($1) AS "isMine"', [lock])
    if (rows[0]?.isMine === true && !closed) client = fresh
    else drop()
    return client === fresh
  }

  return {
    /** Whether no other session has it. It is taken again after a lost connection. */
    async hold(lock: number): Promise<boolean> {
      wanted = lock
      return client !== null || take(lock)
    },

    /** Takes a lock again that was lost with its connection. */
    async keep(): Promise<void> {
      if (wanted !== null && client === null && !closed) await take(wanted).catch(() => undefined)
    },

    async close(): Promise<void> {
      closed = true
      const open = client
      client = null
      await open?.end().catch(() => undefined)
    },
  }
}
