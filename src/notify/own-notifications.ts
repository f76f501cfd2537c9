import type { NotifySettings } from '../config/resolve-notify.ts'
import type { SilencedIncident } from '../core/incident/silence.ts'
import type { Board } from '../state/board.ts'
import type { ChannelLine } from './channel-lines.ts'
import { createGatewayWatch, type GatewayWatchDeps } from './gateway-watch.ts'
import type { Impairment, ImpairmentWatch } from './impairment.ts'
import type { Notification } from './notification.ts'
import { gatewayChannelsFor } from './routes.ts'
import { isMaintained, type Silences } from './silences.ts'
import type { SubjectState } from './subject-state.ts'

/**
 * Decides what each channel is to hear of Heartline itself: every channel of an impairment, whatever the routes; of a gateway
 * without an endpoint, those of the routes that ask for it.
 */
export function createOwnNotifications(
  { clock, board, silences, member, traffic = () => null }: OwnNotificationsDeps,
  impairment: ImpairmentWatch,
  lines: ReadonlyMap<string, ChannelLine>,
) {
  const gateway = createGatewayWatch({ clock, member, traffic })

  function tell(
    current: SubjectState,
    isFor: (channel: string, outbox: ChannelLine['outbox']) => boolean,
  ): Notification[] {
    return [...lines].flatMap(([name, { outbox }]) =>
      isFor(name, outbox) ? outbox.changed(current, clock.now(), clock.monotonic()) : [],
    )
  }

  function allOf(network: string): SilencedIncident {
    const affected = board.network(network)?.endpoints.map(({ health }) => health.endpoint.name) ?? []
    return { network, endpoint: null, cause: 'outage', affected }
  }

  return {
    isOwn: (one: Notification): boolean => impairment.isOwn(one) || gateway.isOwn(one),

    restore(latest: readonly Notification[]): void {
      impairment.restore(latest.filter(impairment.isOwn))
      gateway.restore(latest.filter(gateway.isOwn))
    },

    /** What holds now. */
    open(): readonly Impairment[] {
      const current = impairment.current()
      return [...(current === null ? [] : [current]), ...gateway.open().map(({ told }) => told)]
    },

    /** What has begun or ended. Call it every second. */
    changes(routes: NotifySettings['routes']): readonly Notification[] {
      const impaired = impairment.change()
      const ended = gateway.ended(routes?.some((route) => route.gateway) === true)
      const toAll = impaired === null ? ended : [impaired, ...ended]
      return [
        ...toAll.flatMap((current) => tell(current, () => true)),
        ...gateway.open().flatMap(({ network, current }) => {
          const now = clock.now()
          const all = allOf(network)
          if (silences.covers(all))
            return [...lines.values()].flatMap(({ outbox }) => outbox.hush(current.subject, now))
          if (isMaintained(all, board, now)) return []
          const wanted = gatewayChannelsFor(network, { routes, now })
          // Also after quiet hours, and to a channel that a reload has added.
          return tell(current, (name, outbox) => wanted.has(name) && !outbox.waitsFor(current.subject))
        }),
      ]
    },
  }
}

export interface OwnNotificationsDeps extends Pick<GatewayWatchDeps, 'clock' | 'member'> {
  readonly board: Pick<Board, 'network' | 'entry'>
  readonly silences: Pick<Silences, 'covers'>
  /** The gateway's requests and endpoints; none by default. */
  readonly traffic?: GatewayWatchDeps['traffic']
}
