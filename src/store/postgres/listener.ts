import type { Client } from 'pg'

/** A connection of its own that hears of NOTIFY. */
export function createListener(newClient: () => Client) {
  const channels = new Map<string, ((payload: string) => void)[]>()
  let client: Client | null = null
  let closed = false

  async function open(): Promise<void> {
    const fresh = newClient()
    client = fresh
    fresh.on('notification', ({ channel, payload }) => {
      for (const hears of channels.get(channel) ?? []) hears(payload ?? '')
    })
    fresh.on('error', () => drop(fresh))
    fresh.on('end', () => drop(fresh))
    try {
      await fresh.connect()
      for (const channel of channels.keys()) await subscribe(fresh, channel)
    } catch {
      drop(fresh)
    }
  }

  function drop(ended: Client): void {
    if (client === ended) client = null
    void ended.end().catch(() => undefined)
  }

  const subscribe = (to: Client, channel: string) => to.query(`LISTEN ${to.escapeIdentifier(channel)}`)

  return {
    listen(channel: string, hears: (payload: string) => void): void {
      const isNew = !channels.has(channel)
      channels.set(channel, [...(channels.get(channel) ?? []), hears])
      if (isNew && client !== null) void subscribe(client, channel).catch(() => undefined)
    },

    /** Another server is used from now on. */
    moved(): void {
      if (client !== null) drop(client)
    },

    /** Opens the connection if it is missing and someone listens. */
    async keep(): Promise<void> {
      if (client === null && !closed && channels.size > 0) await open()
    },

    async close(): Promise<void> {
      closed = true
      const open = client
      client = null
      await open?.end().catch(() => undefined)
    },
  }
}
