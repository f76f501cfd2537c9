import type { Clock } from '../clock.ts'
import { type Place, TRAVELS_MS, voteHoldsMs } from '../core/cluster/vote.ts'
import { isBack } from '../core/incident/endpoint-incident.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { Verdict } from '../core/verdict/condition.ts'
import type { Health } from '../core/verdict/health.ts'
import type { BoardEntry } from '../state/board.ts'
import type { WritableIncidentLog } from '../state/incident-log.ts'

/** Knows which places of a cluster may still have to say their word: until then, too few would decide. */
export function createHeardPlaces({ clock, heardMsAgo, hearsOthers, liveVantages, leaseMs }: HeardPlacesDeps) {
  /** Monotonic, because the wall clock is set when the database is first reached, and may be set back later. */
  const startedAt = clock.monotonic()
  /** So long the members of a place may take to claim their networks again. */
  const returnMs = leaseMs + TRAVELS_MS
  /** Places with a live member, and since when (monotonic). */
  let vantages: ReadonlyMap<string, number> = new Map()
  /** The latest of these times. */
  let newestFrom = startedAt
  /** When the votes that are known were asked for. */
  let heardAt = clock.now()
  let isDeaf = false
  /** The last time in which no votes of other members could be read, and for how long they were heard since. */
  let silence = { from: heardAt, until: heardAt, heardMs: Number.POSITIVE_INFINITY }

  function noteSilence(now: UnixMs): void {
    const wasDeaf = isDeaf
    isDeaf = !hearsOthers()
    if (isDeaf) return
    const askedAt = now - heardMsAgo()
    if (!wasDeaf) silence.heardMs += askedAt - heardAt
    else if (silence.heardMs < returnMs) silence.until = askedAt
    else silence = { from: heardAt, until: askedAt, heardMs: 0 }
    heardAt = askedAt
  }

  function isMissing({ vantage, lastPolledAt, since: expiredAt }: Place, intervalMs: number, now: UnixMs): boolean {
    if (lastPolledAt === null) return false
    if (expiredAt >= heardAt && expiredAt < now) return true
    const { from, until, heardMs } = silence
    const withinMs = voteHoldsMs(intervalMs)
    // Another member of the place takes over, which a lease may delay for longer than a vote counts.
    const silentMs = now - lastPolledAt - withinMs
    if (vantages.has(vantage) && silentMs > 0 && silentMs <= leaseMs + intervalMs) return true
    // In a shorter time no vote expires.
    const isReturning = until - from >= intervalMs - TRAVELS_MS && heardMs < Math.max(withinMs, returnMs)
    return isReturning && lastPolledAt < until && expiredAt >= from
  }

  return {
    /**
     * Call it once a second. Whether what is merged is what all places say: without the database, one of several would
     * decide alone.
     */
    listen(now: UnixMs): boolean {
      noteSilence(now)
      // Who is live is known by the database, and by it only some time after it was away.
      const isSettled = !isDeaf && silence.heardMs >= returnMs
      const names = new Set([...(isSettled ? [] : vantages.keys()), ...liveVantages()])
      const mono = clock.monotonic()
      vantages = new Map([...names].map((vantage) => [vantage, vantages.get(vantage) ?? mono]))
      newestFrom = Math.max(startedAt, ...vantages.values())
      return !isDeaf || vantages.size < 2
    },

    /**
     * Whether a new place, or one that this member has not known since it began to keep the network (monotonic), is
     * missing.
     */
    isEarly({ health, places }: BoardEntry, since: number): boolean {
      const mono = clock.monotonic()
      const withinMs = voteHoldsMs(health.endpoint.intervalMs)
      // The other members of a cluster that starts may not be known yet.
      if (mono - startedAt < Math.min(withinMs, leaseMs)) return true
      if (mono - Math.max(since, newestFrom) >= withinMs) return false
      for (const [vantage, from] of vantages) {
        const isNew = mono - Math.max(since, from) < withinMs
        if (isNew && !places.some((place) => place.counted && place.vantage === vantage)) return true
      }
      return false
    },

    /**
     * Whether a place may have voted again since its last vote expired, or will soon: no later votes were read, the
     * database was away, or its endpoints have no owner yet.
     */
    isAwaited({ health, places }: BoardEntry, now: UnixMs): boolean {
      // Called for every endpoint each second, and nearly all places count.
      for (const place of places) if (!place.counted && isMissing(place, health.endpoint.intervalMs, now)) return true
      return false
    },
  }
}

/**
 * Whether the endpoint, down before, is only partly down because places poll one after the other: the latest polls find it
 * up, or a place that sees it down has not polled since the others reached it.
 */
export function isComingBack({ health, places }: BoardEntry): boolean {
  const { conditions, since } = health
  if (!conditions.some(({ code }) => code === 'partial')) return false
  const isOlder = ({ state, lastPolledAt }: Place) => state === 'down' && (lastPolledAt ?? since) < since
  return isBack(health) || places.some(isOlder)
}

/**
 * Whether a place that counted is only silent by its own fault: it polls, and may soon say what it said before. For as
 * long as its last vote would count, the others do not decide without it.
 */
export function isInDoubt(
  { health, places }: BoardEntry,
  last: { readonly at: UnixMs; readonly counted: string } | undefined,
  now: UnixMs,
): boolean {
  const holdsMs = voteHoldsMs(health.endpoint.intervalMs)
  if (last === undefined || now - last.at > holdsMs) return false
  const isPolling = ({ lastPolledAt }: Place) => lastPolledAt !== null && now - lastPolledAt <= holdsMs
  return places.some((place) => !place.counted && isPolling(place) && last.counted.split(' ').includes(place.vantage))
}

/**
 * When a state that is not `up` began for an incident that opens now. Where the places that counted before, without those
 * that are back and with those that have left, had found the endpoint up, that was right until the places changed.
 */
export function beganAt({ health: { since }, places }: Pick<BoardEntry, 'health' | 'places'>): UnixMs {
  const isNew = ({ back }: Place) => back !== undefined && back > since
  const left = places.filter((place) => !place.counted && place.said !== null && place.since > since)
  const before = [...places.filter((place) => place.counted && !isNew(place)), ...left]
  const bad = before.filter(({ said }) => said !== 'up')
  const wasBad = bad.some(({ said }) => said === 'down') || 2 * bad.length > before.length
  if (before.length === 0 || wasBad) return since
  const returned = places.flatMap((place) => (place.counted && isNew(place) ? (place.back ?? since) : []))
  return Math.max(since, ...returned, ...left.map((place) => place.since))
}

/** Whether an endpoint is up only because other places count than did when its incident was last written. */
function areOthersCounting(
  { health, places }: Pick<BoardEntry, 'health' | 'places'>,
  incident: Pick<Incident, 'vantages'> | null,
): boolean {
  const counted = places.filter((place) => place.counted)
  const hasLeft = (seenFrom: string) => !counted.some(({ vantage }) => vantage === seenFrom)
  return counted.some(({ back = 0 }) => back > health.since) || incident?.vantages?.some(hasLeft) === true
}

/** As its incident has it: if it is up, or not, only because other places count, those before were right until then. */
export function datedHealth(
  entry: BoardEntry,
  last: { readonly verdict: Verdict; readonly counted: string } | undefined,
  known: Pick<WritableIncidentLog, 'of'>,
  now: UnixMs,
): Health {
  const { health } = entry
  const incident = known.of(health.endpoint)
  if (health.verdict === 'up') {
    const isOther = last === undefined ? areOthersCounting(entry, incident) : last.counted !== countedOf(entry.places)
    return isOther && last?.verdict !== 'up' ? { ...health, since: now } : health
  }
  const since = incident === null ? Math.min(beganAt(entry), now) : health.since
  return since <= health.since
    ? health
    : { ...health, since, confirmation: { ...health.confirmation, badSince: since } }
}

/** The places that count, as one text to compare. */
export const countedOf = (places: readonly Place[]) =>
  places.flatMap(({ counted, vantage }) => (counted ? vantage : [])).join(' ')

export interface HeardPlacesDeps {
  /** Places with a live member. */
  readonly liveVantages: () => ReadonlySet<string>
  /** How long ago the votes of other members that are known were asked for. */
  readonly heardMsAgo: () => number
  /** Whether that was just now, and the database has answered since. */
  readonly hearsOthers: () => boolean
  readonly leaseMs: number
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
}
