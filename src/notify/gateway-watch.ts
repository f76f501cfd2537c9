import type { Clock } from '../clock.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'
import { type Impairment, ownState } from './impairment.ts'
import { type Notification, ownSubjectOf } from './notification.ts'
import type { SubjectState } from './subject-state.ts'
import { dateTime } from './wording.ts'

/** A lack of endpoints that passes within this time is not reported. */
const BEGINS_AFTER_MS = 5000
/** It has ended once the network has had an endpoint for this long. */
const ENDS_AFTER_MS = 30_000
/** What begins again this soon takes twice as long to end, up to 16 min: a network that comes and goes is no flood. */
const RELAPSE_MS = 3_600_000
const MOST_RELAPSES = 5

/**
 * Follows for which networks the gateway rejects requests because no endpoint is usable. Begins with a rejected request, and
 * ends when an endpoint is usable again, whether requests arrive or not.
 */
export function createGatewayWatch({ clock, traffic, member }: GatewayWatchDeps) {
  const networks = new Map<string, Watched>()
  const suffix = member === undefined ? '' : `.${member}`
  const speaker = member === undefined ? 'gateway' : `gateway of ${member}`

  function watched(network: string): Watched {
    const known = networks.get(network)
    if (known !== undefined) return known
    const seen = traffic()?.failed(network) ?? 0
    const fresh: Watched = { seen, lacking: null, told: null, fineSince: null, endedAt: null, relapses: 0 }
    networks.set(network, fresh)
    return fresh
  }

  function begin(network: string, one: Watched, rejected: number, hasEndpoint: boolean): void {
    const mono = clock.monotonic()
    if (hasEndpoint || (one.lacking === null && rejected === 0)) {
      one.lacking = null
      return
    }
    one.lacking ??= { at: clock.now(), mono, rejected: 0 }
    one.lacking.rejected += rejected
    const { at, mono: since, rejected: count } = one.lacking
    if (mono - since < BEGINS_AFTER_MS) return
    const requests = `${count} ${count === 1 ? 'request' : 'requests'} rejected in ${humanDuration(mono - since)}`
    const text = `${speaker}: no endpoint for network ${network} since ${dateTime(at)} (${requests})`
    one.told = { id: `${at.toString(36)}-${network}-gateway${suffix}`, at, text }
    one.lacking = null
    one.fineSince = null
    const isRelapse = one.endedAt !== null && mono - one.endedAt < RELAPSE_MS
    one.relapses = isRelapse ? Math.min(one.relapses + 1, MOST_RELAPSES) : 0
  }

  /** The message of the end, once it has lasted. */
  function end(network: string, one: Watched, told: Impairment, hasEndpoint: boolean): SubjectState[] {
    const mono = clock.monotonic()
    one.fineSince = hasEndpoint ? (one.fineSince ?? mono) : null
    if (one.fineSince === null || mono - one.fineSince < ENDS_AFTER_MS * 2 ** one.relapses) return []
    one.told = null
    one.endedAt = mono
    const lasted = humanDuration(Math.max(0, clock.now() - (mono - one.fineSince) - told.at))
    return [ownState(told.id, false, `${speaker}: network ${network} has an endpoint again after ${lasted}`)]
  }

  function forget(network: string, { told }: Watched): SubjectState[] {
    networks.delete(network)
    return told === null ? [] : [ownState(told.id, false, `${speaker}: network ${network} is no longer served`)]
  }

  return {
    /** Whether a stored notification is about the gateway of this daemon. */
    isOwn({ subject, report }: Notification): boolean {
      const own = report === null ? ownSubjectOf(subject) : null
      return own !== null && own.network !== null && own.member === (member ?? null)
    },

    /** Continues what an earlier run has reported; `latest` are the latest notifications about the gateway, in order. */
    restore(latest: readonly Notification[]): void {
      for (const { type, subject, text } of latest) {
        const own = ownSubjectOf(subject)
        if (own === null || own.network === null) continue
        watched(own.network).told = type === 'heartline.impaired' ? { id: subject, at: own.at, text } : null
      }
    },

    /** What has just ended. Call it every second; `begins`: whether any route wants to hear of a beginning. */
    ended(begins: boolean): readonly SubjectState[] {
      const now = traffic()
      const served = new Set(now?.networks())
      const names = new Set([...(begins ? served : []), ...networks.keys()])
      return [...names].flatMap((network) => {
        const one = watched(network)
        if (now === null || !served.has(network)) return forget(network, one)
        const failed = now.failed(network)
        const rejected = Math.max(0, failed - one.seen)
        one.seen = failed
        if (one.told !== null) return end(network, one, one.told, now.hasEndpoint(network))
        if (!begins) return forget(network, one)
        if (one.lacking !== null || rejected > 0) begin(network, one, rejected, now.hasEndpoint(network))
        return []
      })
    },

    /** Those that hold now, with the change that reports them. */
    open: (): readonly OpenLack[] =>
      [...networks].flatMap(([network, { told }]) =>
        told === null ? [] : [{ network, told, current: ownState(told.id, true, told.text) }],
      ),
  }
}

/** The gateway's requests and endpoints. */
export interface GatewayTraffic {
  networks(): readonly string[]
  /** Number of requests that no endpoint has answered. */
  failed(network: string): number
  /** Whether an endpoint of the network is usable. */
  hasEndpoint(network: string): boolean
}

export interface GatewayWatchDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** `null` while there is no gateway. */
  readonly traffic: () => GatewayTraffic | null
  /** Its id among several daemons with one store. */
  readonly member?: string | undefined
}

export interface OpenLack {
  readonly network: string
  readonly told: Impairment
  readonly current: SubjectState
}

interface Watched {
  /** Failed requests counted so far. */
  seen: number
  /** Since when requests are rejected, before that is reported. */
  lacking: { readonly at: UnixMs; readonly mono: number; rejected: number } | null
  told: Impairment | null
  /** Monotonic. */
  fineSince: number | null
  /** Monotonic; when the latest one that was reported ended. */
  endedAt: number | null
  relapses: number
}
