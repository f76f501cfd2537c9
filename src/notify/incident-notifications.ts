import type { Clock } from '../clock.ts'
import type { NotifySettings } from '../config/resolve-notify.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { Board } from '../state/board.ts'
import type { ChannelLine, Reminders } from './channel-lines.ts'
import type { Impairment } from './impairment.ts'
import { currentState, type Notification, reportOf } from './notification.ts'
import { createStateCounter, othersOf } from './other-endpoints.ts'
import { channelsFor } from './routes.ts'
import { isMaintained, type Silences } from './silences.ts'
import type { SubjectState } from './subject-state.ts'

/** Decides what each channel is to hear of an incident. */
export function createIncidentNotifications(
  { clock, board, silences }: IncidentNotificationsDeps,
  lines: ReadonlyMap<string, ChannelLine>,
) {
  const statesOf = createStateCounter({ board, clock })

  function providerOf(network: string, endpoint: string): string | null {
    return board.entry(network, endpoint)?.health.endpoint.provider ?? null
  }

  function hush(incident: Incident): Notification[] {
    return [...lines.values()].flatMap(({ outbox }) => outbox.hush(incident.id, clock.now()))
  }

  function wantedBy(incident: Incident, { routes }: NotifySettings, isHushed: boolean): ReadonlySet<string> {
    if (incident.closedAt !== null || isHushed || isMaintained(incident, board, clock.now())) return NO_CHANNELS
    return channelsFor(incident, { routes, channels: [...lines.keys()], now: clock.now(), providerOf })
  }

  /** Looks at the other endpoints of the network at most once for all channels. */
  function reporterOn(incident: Incident): SubjectState['report'] {
    let others: string | null = null
    return (previous) => {
      others ??= othersOf(incident, board.network(incident.network), statesOf)
      return reportOf(incident, previous, others)
    }
  }

  function stateOf(incident: Incident): SubjectState {
    const { id, closedAt, flapping, absorbedBy } = incident
    return {
      subject: id,
      kind: 'incident',
      open: closedAt === null,
      state: currentState(incident),
      flapping,
      absorbed: absorbedBy !== null,
      wanted: true,
      text: '',
      report: reporterOn(incident),
    }
  }

  return {
    /** What tells a receiver that forgets again what it has heard. */
    reminders(open: readonly Incident[], own: readonly Impairment[]): Reminders {
      const byId = new Map(open.map((incident) => [incident.id, incident]))
      const now = clock.now()
      return {
        subjects: [...byId.keys(), ...own.map(({ id }) => id)],
        messageOf(id, { state }) {
          const message = { ...REMINDER, id, subject: id, createdAt: now, sentAt: now }
          const trouble = own.find((one) => one.id === id)
          if (trouble !== undefined) return { ...message, type: 'heartline.impaired', text: trouble.text }
          const incident = byId.get(id)
          const report = incident === undefined ? null : reporterOn(incident)(null)
          // Changes that `min_state`, quiet hours or flapping hide are not told in this way either.
          return report === null ? undefined : { ...message, reports: [{ ...report, state }] }
        },
      }
    },

    /** After a change of the incident. */
    now(incident: Incident, settings: NotifySettings): Notification[] {
      const isHushed = silences.covers(incident)
      // What waits is dropped first, so that its end is not sent with it.
      const hushed = isHushed ? hush(incident) : []
      const wanted = wantedBy(incident, settings, isHushed)
      const current = stateOf(incident)
      const told = [...lines].flatMap(([name, { outbox }]) =>
        outbox.changed({ ...current, wanted: wanted.has(name) }, clock.now(), clock.monotonic()),
      )
      return [...hushed, ...told]
    },

    /** Drops what waits about an incident that a silence covers. */
    hushWaiting(incident: Incident): Notification[] {
      const waits = [...lines.values()].some(({ outbox }) => outbox.waitsFor(incident.id))
      return waits && silences.covers(incident) ? hush(incident) : []
    },

    /** A change in quiet hours is sent after them, if it still holds; what is open for long is repeated. */
    later(incident: Incident, settings: NotifySettings): Notification[] {
      if (silences.covers(incident)) return hush(incident)
      const now = clock.now()
      const wanted = wantedBy(incident, settings, false)
      const current = stateOf(incident)
      const mono = clock.monotonic()
      return [...lines].flatMap(([name, { channel, outbox }]) => {
        if (!wanted.has(name) || outbox.waitsFor(incident.id)) return []
        const told = outbox.changed(current, now, mono)
        const { repeatMs } = channel.settings
        if (told.length > 0 || repeatMs === null || mono - outbox.toldAt(incident.id) < repeatMs) return told
        return outbox.repeat(current, now, mono)
      })
    },
  }
}

export interface IncidentNotificationsDeps {
  readonly clock: Clock
  readonly board: Pick<Board, 'network' | 'entry' | 'subscribe'>
  readonly silences: Pick<Silences, 'covers'>
}

const REMINDER = { type: 'incident.repeated', attempts: 0, reports: [], saysBoth: false, text: '' } as const
const NO_CHANNELS: ReadonlySet<string> = new Set()
