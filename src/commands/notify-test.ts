import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { systemClock } from '../clock.ts'
import { channelOf } from '../notify/channel-table.ts'
import { deliver } from '../notify/deliver.ts'
import { createHttpDelivery, errorOf } from '../notify/http-delivery.ts'
import { say } from '../notify/wording.ts'
import { readConfig } from './check-config.ts'
import { type CommandIo, EXIT } from './io.ts'

export interface NotifyTestOptions {
  readonly file: string
  /** Names; empty for all channels. */
  readonly channels: readonly string[]
}

/** Sends a test message through each channel, once; exit status 1 if one failed. */
export async function notifyTest({ file, channels: wanted }: NotifyTestOptions, io: CommandIo): Promise<number> {
  const loaded = readConfig(file, io)
  if (loaded === null) return EXIT.badConfig
  const { notify, server } = loaded.config
  const unknown = wanted.filter((name) => !notify.channels.some((channel) => channel.name === name))
  for (const name of unknown) io.err(`heartline: ${name}: no such channel in ${file}`)
  if (unknown.length > 0) return EXIT.usage
  const chosen = notify.channels.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  if (chosen.length === 0) io.err(`heartline: notify.channels: there is no channel in ${file}`)
  // Every channel listens to this signal, so Node's warning about many listeners is turned off.
  setMaxListeners(0, io.signal)
  const http = createHttpDelivery({ clock: systemClock })
  const outcomes = await Promise.all(
    chosen.map(async (settings) => {
      const now = systemClock.now()
      const id = `msg_${randomUUID()}`
      const text = `Test message of Heartline for the channel ${settings.name}`
      const message = {
        id,
        type: 'test',
        subject: id,
        createdAt: now,
        sentAt: now,
        attempts: 0,
        saysBoth: false,
      } as const
      const said = say({ ...message, reports: [], text }, server.publicUrl)
      const delivered = await deliver(channelOf(settings), said, { http, clock: systemClock, signal: io.signal })
      return { name: settings.name, error: errorOf(delivered) }
    }),
  )
  http.close()
  for (const { name, error } of outcomes) io.out(error === null ? `${name}: sent` : `${name}: failed: ${error}`)
  return chosen.length > 0 && outcomes.every(({ error }) => error === null) ? EXIT.ok : EXIT.degraded
}
