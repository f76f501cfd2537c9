import { type Clock, repeat, type Timer, within } from '../clock.ts'
import type { NotifySettings } from '../config/resolve-notify.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { NotificationQuery, NotificationRecord, Store } from '../store/store.ts'
import { createChannelLines } from './channel-lines.ts'
import type { GatewayWatchDeps } from './gateway-watch.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createHttpDelivery } from './http-delivery.ts'
import { createImpairmentWatch, type ImpairmentDeps } from './impairment.ts'
import { createIncidentNotifications } from './incident-notifications.ts'
import { type Notification, OWN_MARKS, type Result } from './notification.ts'
import { createOwnNotifications } from './own-notifications.ts'
import type { SenderHealth } from './sender.ts'
import type { Silences } from './silences.ts'
import { readNotification } from './stored-notification.ts'
import { createWriteBeforeSend } from './write-before-send.ts'

/**
 * Tells channels about incidents, each at least once and in order. What is to be sent is a row of the store, written with
 * the incident; senders of their own send it. Nothing here waits in the path of a poll.
 */
export interface Notifier {
  configure(settings: NotifySettings, publicUrl: string | null): void
  /**
   * Loads once what an earlier run has not sent; rejects if that fails. Call it before the first poll, after `configure`.
   * Before that, there are no messages about Heartline itself.
   */
  restore(): Promise<void>
  /** Starts to send. */
  start(): void
  /**
   * Loads what has not been sent about networks of which other daemons have told so far, or only what is `about` an incident
   * that one of them stored late; rejects if that fails.
   */
  adopt(
    networks: ReadonlySet<string>,
    certain: Pick<Store, 'notifications'>,
    about?: NotificationQuery['about'],
  ): Promise<void>
  /** Queues what waits once more, for a store that has lost it. */
  saveWaiting(): void
  /** Forgets a network of which another daemon tells from now on. Resolves when what was in flight is stored as sent. */
  leave(network: string): Promise<void>
  /** The notifications of an incident's change, to be written with it. */
  changed(incident: Incident): readonly NotificationRecord[]
  status(): NotifierStatus
  /** Resolves when nothing is in flight. What waits stays in the store. */
  stop(): Promise<void>
}

export interface NotifierStatus {
  /** Which of several daemons with one store it is of. */
  readonly member?: string | undefined
  readonly channels: readonly ChannelStatus[]
  /** What waits, in no order. */
  readonly waiting: readonly Notification[]
  readonly heartbeat: { readonly lastSentAt: number | null; readonly lastError: string | null } | null
}

export interface ChannelStatus extends SenderHealth {
  readonly name: string
  readonly type: string
  readonly results: Readonly<Record<Result, number>>
  /** For how long an opening is held back, for others to be sent with it. */
  readonly groupWaitMs: number
}

const TICK_MS = 1000
/** The next daemon that sends about a network waits for it, unless a receiver hangs. */
const LEFT_WITHIN_MS = 2000
const MOST_RESTORED = 50_000
const LATEST = 1000
/** Open incidents examined in one tick. */
const MOST_AT_ONCE = 200

export function createNotifier(deps: NotifierDeps): Notifier {
  const { clock, store, member } = deps
  /** Networks whose sent messages were read: before that, an open incident would be sent again. */
  const adopted = new Set<string>()
  const tells = (network: string) => deps.tells === undefined || (deps.tells(network) && adopted.has(network))
  const http = createHttpDelivery({ clock })
  const impairment = createImpairmentWatch(deps)
  const heartbeat = createHeartbeat({ clock, http, works: impairment.works })
  const channelLines = createChannelLines({
    ...deps,
    http,
    ratePerMinute: () => settings.ratePerMinute,
    publicUrl: () => publicUrl,
    save,
    close: (record) => store.saveNotification({ ...record, waiting: false }),
  })
  const lines = channelLines.all
  const telling = createIncidentNotifications(deps, lines)
  const own = createOwnNotifications(deps, impairment, lines)
  const unsent = createWriteBeforeSend({
    store,
    clock,
    confirmed: deps.tells === undefined ? undefined : (waiting) => confirmed(waiting, store, tells),
    onStored(ids) {
      for (const { outbox, sender } of lines.values()) {
        outbox.stored(ids)
        sender.wake()
      }
    },
  })
  let settings: NotifySettings = NOTHING
  let publicUrl: string | null = null
  let timer: Timer | null = null
  let isRestored = false
  let next = 0
  let silencesSeen = 0

  /** Queues rows that do not belong to a change of an incident. */
  function save(notifications: readonly Notification[]): void {
    for (const notification of notifications) store.saveNotification(recordOf(notification))
    unsent.add(notifications)
  }

  function tick(): void {
    if (lines.size === 0) return
    const open = deps.incidents.open().filter(({ network }) => tells(network))
    if (silencesSeen !== deps.silences.begun()) {
      silencesSeen = deps.silences.begun()
      save(open.flatMap(telling.hushWaiting))
    }
    if (next >= open.length) next = 0
    const some = open.slice(next, next + MOST_AT_ONCE)
    next += MOST_AT_ONCE
    const ofSelf = isRestored ? own.changes(settings.routes) : []
    save([...ofSelf, ...some.flatMap((incident) => telling.later(incident, settings))])
    // To fire again what another daemon has resolved is worse than to let an alert end.
    const ours = () => open.filter(({ network }) => deps.maySend?.(network) !== false)
    for (const line of lines.values()) line.keepAlive(() => telling.reminders(ours(), own.open()))
  }

  return {
    configure(nextSettings, url) {
      settings = nextSettings
      publicUrl = url
      heartbeat.configure(settings.heartbeat)
      channelLines.configure(settings.channels)
    },

    async restore() {
      const { reads = store } = deps
      const [unfinished, latest] = await Promise.all([
        reads.notifications({ about: 'unfinished', limit: MOST_RESTORED }),
        reads.notifications({ about: { naming: OWN_MARKS }, limit: LATEST }),
      ])
      if (isRestored) return
      isRestored = true
      const isOwn = (one: Notification | null) => one !== null && own.isOwn(one)
      const ofSelf = latest.filter(({ value }) => isOwn(readNotification(value)))
      own.restore(ofSelf.flatMap(({ value }) => readNotification(value) ?? []))
      const ours = unfinished.filter(({ value }) => {
        const notification = readNotification(value)
        const network = notification?.report?.network
        return network === undefined ? member === undefined || isOwn(notification) : tells(network)
      })
      channelLines.restore([...new Map([...ofSelf, ...ours].map((record) => [record.id, record])).values()])
      if (timer !== null) for (const { sender } of lines.values()) sender.wake()
    },

    async adopt(networks, certain, about = 'unfinished') {
      const found = await certain.notifications({ about, limit: MOST_RESTORED })
      const gained = new Set([...networks].filter((name) => deps.tells?.(name) !== false))
      for (const network of gained) adopted.add(network)
      channelLines.restore(found.filter(({ value }) => gained.has(readNotification(value)?.report?.network ?? '')))
      for (const { sender } of lines.values()) sender.wake()
    },

    saveWaiting() {
      for (const { outbox } of lines.values()) {
        for (const notification of outbox.waiting()) store.saveNotification(recordOf(notification))
      }
    },

    async leave(network) {
      adopted.delete(network)
      const left = new Set(deps.incidents.open().flatMap((one) => (one.network === network ? one.id : [])))
      for (const { outbox } of lines.values()) {
        for (const { subject, report } of outbox.waiting()) if (report?.network === network) left.add(subject)
        outbox.leave((subject) => left.has(subject))
      }
      const settled = Promise.all([...lines.values()].map(({ sender }) => sender.settled())).then(() => store.flush())
      await within(clock, LEFT_WITHIN_MS, settled)
    },

    start() {
      unsent.start()
      heartbeat.start()
      for (const { sender } of lines.values()) sender.wake()
      timer = repeat(clock, TICK_MS, tick)
    },

    changed(incident) {
      const notifications = telling.now(incident, settings)
      unsent.add(notifications)
      return notifications.map(recordOf)
    },

    status: () => ({
      member,
      channels: [...lines].map(([name, { channel, sender, results }]) => ({
        name,
        type: channel.settings.target.type,
        results,
        groupWaitMs: channel.groups ? channel.settings.groupWaitMs : 0,
        ...sender.health,
      })),
      waiting: [...lines.values()].flatMap(({ outbox }) => outbox.waiting()),
      heartbeat: settings.heartbeat === null ? null : heartbeat.status(),
    }),

    async stop() {
      timer?.cancel()
      unsent.stop()
      heartbeat.stop()
      await channelLines.stop()
      http.close()
    },
  }
}

export interface NotifierDeps extends Pick<ImpairmentDeps, 'trouble' | 'polls' | 'member'> {
  readonly clock: Clock
  readonly log: Log
  readonly board: Pick<Board, 'network' | 'entry' | 'subscribe'>
  readonly incidents: Pick<IncidentLog, 'open'>
  readonly store: Pick<Store, 'saveNotification' | 'notifications' | 'flush'>
  /** For `restore`; `store` by default. */
  readonly reads?: Pick<Store, 'notifications'>
  readonly silences: Pick<Silences, 'covers' | 'begun'>
  /**
   * Whether this daemon sends messages about the network's incidents; by default about all. With it, a message is sent only
   * once its row is found in the store, which accepts it from one daemon alone.
   */
  readonly tells?: ((network: string) => boolean) | undefined
  /** Whether no other daemon can have taken that over yet; until it is known again, messages about the network wait. */
  readonly maySend?: ((network: string) => boolean) | undefined
  /** The gateway's requests; none by default. */
  readonly traffic?: GatewayWatchDeps['traffic']
  /** From 0 to 1. */
  readonly random: () => number
}

const NOTHING: NotifySettings = { channels: [], routes: null, ratePerMinute: 30, heartbeat: null }

/** Those that are in the store, or are no longer to be sent: a row of a daemon that lost the network is refused. */
async function confirmed(
  waiting: readonly Notification[],
  store: Pick<Store, 'notifications'>,
  tells: (network: string) => boolean,
): Promise<readonly Notification[]> {
  const ids = [...new Set(waiting.flatMap(({ id, report }) => (report === null ? [] : id)))]
  const records = ids.length === 0 ? [] : await store.notifications({ about: { ids }, limit: ids.length })
  const stored = new Set(records.map(({ id }) => id))
  return waiting.filter(({ id, report }) => report === null || stored.has(id) || !tells(report.network))
}

function recordOf(notification: Notification): NotificationRecord {
  const { id, channel, subject, createdAt, state } = notification
  const network = notification.report?.network
  return { id, channel, incident: subject, network, createdAt, waiting: state === 'waiting', value: notification }
}
