import type { Client } from 'pg'

/** An advisory lock; any number of sessions have a shared one, none beside an exclusive one. */
export interface SessionLock {
  readonly id: number
  readonly isShared: boolean
}

/** A connection of its own that lives as long as the daemon: it has the lock of this session, and hears of NOTIFY. */
export function createStandingConnection(newClient: () => Client, lock: SessionLock) {
  const channels = new Map<string, ((payload: string) => void)[]>()
  let client: Client | null = null
  let onLost: (() => void) | null = null
  let opening: Promise<boolean> | null = null
  let closed = false

  function drop(ended: Client): void {
    const wasHeld = client === ended
    if (wasHeld) client = null
    void ended.end().catch(() => undefined)
    if (wasHeld && !closed) onLost?.()
  }

  async function connect(): Promise<boolean> {
    const fresh = newClient()
    fresh.on('notification', ({ channel, payload }) => {
      for (const hears of channels.get(channel) ?? []) hears(payload ?? '')
    })
    fresh.on('error', () => drop(fresh))
    fresh.on('end', () => drop(fresh))
    try {
      await fresh.connect()
      const isMine = await take(fresh)
      for (const channel of channels.keys()) await subscribe(fresh, channel)
      if (isMine && !closed) client = fresh
      else drop(fresh)
    } catch (error) {
      drop(fresh)
      throw error
    }
    return client === fresh
  }

  async function take(by: Client): Promise<boolean> {
    const text = `SELECT pg_try_advisory_lock${lock.isShared ? '_shared' : ''}($1) AS "isMine"`
    const { rows } = await by.query<{ isMine: boolean }>(text, [lock.id])
    return rows[0]?.isMine === true
  }

  const subscribe = (to: Client, channel: string) => to.query(`LISTEN ${to.escapeIdentifier(channel)}`)

  /** One at a time: two connections of this process would compete for the lock. */
  function open(): Promise<boolean> {
    opening ??= connect().finally(() => {
      opening = null
    })
    return opening
  }

  /** A connection that died without a word, which the server may have noticed, has no lock any more. */
  async function isAlive(): Promise<boolean> {
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
    /** Whether no other session excludes this one. `lost`: the connection has ended, and another may have the lock now. */
    async hold(lost: () => void): Promise<boolean> {
      onLost = lost
      return (await isAlive()) || open()
    },

    listen(channel: string, hears: (payload: string) => void): void {
      const isNew = !channels.has(channel)
      channels.set(channel, [...(channels.get(channel) ?? []), hears])
      if (isNew && client !== null) void subscribe(client, channel).catch(() => undefined)
    },

    /** Another server is used from now on. */
    moved(): void {
      if (client !== null) drop(client)
    },

    /** Notices a lost connection, and opens another, if it is needed. */
    async keep(): Promise<void> {
      const isNeeded = onLost !== null || channels.size > 0
      if (!isNeeded || closed || (await isAlive())) return
      await open().catch(() => undefined)
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
