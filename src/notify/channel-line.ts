import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Channel } from './channel-table.ts'
import { bestOf, deliver } from './deliver.ts'
import type { HttpDelivery } from './http-delivery.ts'
import type { Heard, Message, Notification, Result } from './notification.ts'
import { Outbox } from './outbox.ts'
import { createSender, type Sender } from './sender.ts'
import { type Said, say } from './wording.ts'

/** One channel with what waits for it. Its settings may change while it waits. */
export interface ChannelLine {
  channel: Channel
  readonly outbox: Outbox
  readonly sender: Sender
  readonly results: Readonly<Record<Result, number>>
  say(message: Message): Said
  /** Tells a receiver that forgets what is open, if it is time. */
  keepAlive(reminders: () => Reminders): void
  stop(): Promise<void>
}

export interface Reminders {
  readonly subjects: readonly string[]
  /** What tells again what a channel has heard of this subject. */
  messageOf(subject: string, heard: Heard): Message | undefined
}

export function createChannelLine(initial: Channel, deps: ChannelLineDeps): ChannelLine {
  const { clock, log, http } = deps
  const { name } = initial.settings
  const results: Record<Result, number> = { sent: 0, retried: 0, rejected: 0, expired: 0 }
  const stopping = new AbortController()
  let keptAliveAt = Number.NEGATIVE_INFINITY
  const outbox = new Outbox({
    newId: () => `msg_${randomUUID()}`,
    settings() {
      const { settings, groups } = line.channel
      return { channel: name, minState: settings.minState, groupWaitMs: groups ? settings.groupWaitMs : 0 }
    },
  })
  const sender = createSender({
    outbox,
    clock,
    random: deps.random,
    ratePerMinute: deps.ratePerMinute,
    send: (message, signal) => deliver(line.channel, line.say(message), { http, clock, signal }),
    onSettled(notifications, result) {
      results[result] += result === 'expired' ? notifications.length : 1
      deps.onSettled(notifications)
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

  const line: ChannelLine = {
    channel: initial,
    outbox,
    sender,
    results,
    say: (message) => say(message, deps.publicUrl()),
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
      void Promise.all(requests.map((request) => http.send(request, stopping.signal, ca))).then((outcomes) => {
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

export interface ChannelLineDeps {
  readonly clock: Clock
  readonly log: Log
  readonly http: HttpDelivery
  readonly random: () => number
  readonly ratePerMinute: () => number
  readonly publicUrl: () => string | null
  /** Notifications that have changed. */
  readonly onSettled: (notifications: readonly Notification[]) => void
}
