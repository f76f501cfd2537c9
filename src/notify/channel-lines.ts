import type { NotifySettings } from '../config/resolve-notify.ts'
import type { NotificationRecord } from '../store/store.ts'
import { type ChannelLine, type ChannelLineDeps, createChannelLine } from './channel-line.ts'
import { channelOf } from './channel-table.ts'
import type { Notification } from './notification.ts'
import { readNotification } from './stored-notification.ts'

/** The lines of all configured channels, by name. */
export function createChannelLines(deps: ChannelLinesDeps) {
  const { clock, log, save, close } = deps
  const lines = new Map<string, ChannelLine>()
  const removed = new Set<Promise<void>>()

  /** What waits for a channel that is removed would be sent when it returns, perhaps much later. */
  async function remove(line: ChannelLine): Promise<void> {
    await line.stop()
    save(line.outbox.close(REMOVED, clock.now()))
  }

  /** A waiting row that can be sent, or is none; others are ended. */
  function sendable(record: NotificationRecord): Notification | null {
    const { id, channel, incident, waiting, value } = record
    const notification = readNotification(value)
    if (!waiting) return notification
    if (notification === null) {
      log.warn({ id, channel, incident }, 'stored notification cannot be read: it is not sent')
      close(record)
    } else if (!lines.has(channel)) {
      save([{ ...notification, state: 'expired', endedAt: clock.now(), error: REMOVED }])
    }
    return notification
  }

  return {
    all: lines as ReadonlyMap<string, ChannelLine>,

    configure(channels: NotifySettings['channels']): void {
      const names = new Set(channels.map(({ name }) => name))
      for (const [name, line] of lines) {
        if (names.has(name)) continue
        lines.delete(name)
        const ending = remove(line).finally(() => removed.delete(ending))
        removed.add(ending)
      }
      for (const channel of channels.map(channelOf)) {
        const { name } = channel.settings
        const known = lines.get(name)
        if (known === undefined) lines.set(name, createChannelLine(channel, deps))
        else known.channel = channel
      }
    },

    /** Loads the notifications of an earlier run, in the order in which they were added. */
    restore(records: readonly NotificationRecord[]): void {
      const all = records.flatMap((record) => sendable(record) ?? [])
      for (const [name, { outbox }] of lines) {
        const ofChannel = all.filter(({ channel }) => channel === name)
        outbox.restore(ofChannel, clock.now(), clock.monotonic())
      }
    },

    async stop(): Promise<void> {
      await Promise.all([...removed, ...[...lines.values()].map((line) => line.stop())])
    },
  }
}

export interface ChannelLinesDeps extends ChannelLineDeps {
  readonly save: (notifications: readonly Notification[]) => void
  /** Keeps a row that cannot be read, as one that does not wait. */
  readonly close: (record: NotificationRecord) => void
}

const REMOVED = 'the channel was removed from the configuration'
