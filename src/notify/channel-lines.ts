import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { NotifySettings } from '../config/resolve-notify.ts'
import type { Log } from '../log.ts'
import { sameValues } from '../secret.ts'
import type { NotificationRecord } from '../store/store.ts'
import { type Channel, channelOf } from './channel-table.ts'
import { bestOf, deliver } from './deliver.ts'
import type { HttpDelivery } from './http-delivery.ts'
import type { Heard, Message, Notification, Result } from './notification.ts'
import { Outbox } from './outbox.ts'
import { createSender, type Sender } from './sender.ts'
import { readNotification } from './stored-notification.ts'
import { type Said, say } from './wording.ts'

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
        else known.replace(channel)
      }
    },

    /** Loads the notifications of an earlier run, in the order in which they were added. */
    restore(records: readonly NotificationRecord[]): void {
      const all = records.flatMap((record) => sendable(record) ?? [])
      for (const [name, { outbox }] of lines) {
        // What ended with its removal, a channel that has returned has not heard.
        const ofChannel = all.filter(({ channel, error }) => channel === name && error !== REMOVED)
        outbox.restore(ofChannel, clock.now(), clock.monotonic())
      }
    },

    async stop(): Promise<void> {
      await Promise.all([...removed, ...[...lines.values()].map((line) => line.stop())])
    },
  }
}

export interface ChannelLinesDeps extends ChannelLineDeps {
  /** Keeps a row that cannot be read, as one that does not wait. */
  readonly close: (record: NotificationRecord) => void
}

const REMOVED = 'the channel was removed from the configuration'

/** One channel with what waits for it. Its settings may change while it waits. */
export interface ChannelLine {
  readonly channel: Channel
  readonly outbox: Outbox
  readonly sender: Sender
  readonly results: Readonly<Record<Result, number>>
  say(message: Message): Said
  replace(channel: Channel): void
  /** Tells a receiver that forgets what is open, if it is time. */
  keepAlive(reminders: () => Reminders): void
  stop(): Promise<void>
}

export interface Reminders {
  readonly subjects: readonly string[]
  /** What tells again what a channel has heard of this subject. */
  messageOf(subject: string, heard: Heard): Message | undefined
}

function createChannelLine(initial: Channel, deps: ChannelLineDeps): ChannelLine {
  const { clock, log, http } = deps
  const { name } = initial.settings
  const results: Record<Result, number> = { sent: 0, retried: 0, rejected: 0, expired: 0 }
  const stopping = new AbortController()
  let keptAliveAt = Number.NEGATIVE_INFINITY
  /** The latest renewal: if an end overtook it, the receiver would take what has ended for open again. */
  let renewed: Promise<void> = Promise.resolve()
  const outbox = new Outbox({
    newId: () => `msg_${randomUUID()}`,
    settings() {
      const { settings, groups } = line.channel
      const groupWaitMs = groups ? settings.groupWaitMs : 0
      // Another daemon may have to send what waits about one network.
      const groupsByNetwork = deps.tells !== undefined
      return { channel: name, minState: settings.minState, groupWaitMs, groups, groupsByNetwork, maySend: deps.maySend }
    },
  })
  const sender = createSender({
    outbox,
    clock,
    random: deps.random,
    ratePerMinute: deps.ratePerMinute,
    async send(message, signal) {
      await renewed
      return deliver(line.channel, line.say(message), { http, clock, signal })
    },
    onSettled(notifications, result) {
      results[result] += result === 'expired' ? notifications.length : 1
      deps.save(notifications)
      for (const notification of notifications) logSettled(notification, result)
    },
    onHealth({ failing, lastError }) {
      if (failing) log.warn({ channel: name, error: lastError }, 'notification channel is failing')
      else log.info({ channel: name }, 'notification channel works again')
    },
  })

  function logSettled({ subject, type, report, error }: Notification, result: Result): void {
    const { network = null, endpoint = null } = report ?? {}
    const fields = { channel: name, network, endpoint, incident: subject, type }
    if (result === 'sent') log.debug(fields, 'notification sent')
    else if (result !== 'retried') log.warn({ ...fields, result, error }, 'notification not sent')
  }

  const line: ChannelLine & { channel: Channel } = {
    channel: initial,
    outbox,
    sender,
    results,
    say: (message) => say(message, deps.publicUrl()),
    replace(channel) {
      const isSameReceiver = sameValues(line.channel.settings.target, channel.settings.target)
      line.channel = channel
      if (!isSameReceiver) sender.startOver()
    },
    keepAlive(reminders) {
      const { keepAlive } = line.channel
      const mono = clock.monotonic()
      if (keepAlive === null || mono - keptAliveAt < keepAlive.everyMs) return
      keptAliveAt = mono
      const { subjects, messageOf } = reminders()
      const messages = subjects.flatMap((subject) => {
        const heard = outbox.heard(subject)
        return heard?.open === true && !outbox.waitsFor(subject) ? (messageOf(subject, heard) ?? []) : []
      })
      if (messages.length === 0) return
      const requests = keepAlive.render(messages.map(line.say))
      const { ca } = line.channel.settings
      renewed = Promise.all(requests.map((request) => http.send(request, stopping.signal, ca))).then((outcomes) => {
        if (!stopping.signal.aborted) sender.note(bestOf(outcomes))
      })
    },
    async stop() {
      stopping.abort()
      await sender.stop()
    },
  }
  return line
}

interface ChannelLineDeps {
  /** Of which networks this daemon tells; by default of all. */
  readonly tells?: ((network: string) => boolean) | undefined
  /** Whether no other daemon can send about the network now; by default none ever can. */
  readonly maySend?: ((network: string) => boolean) | undefined
  readonly clock: Clock
  readonly log: Log
  readonly http: HttpDelivery
  readonly random: () => number
  readonly ratePerMinute: () => number
  readonly publicUrl: () => string | null
  /** Stores notifications that have changed. */
  readonly save: (notifications: readonly Notification[]) => void
}
