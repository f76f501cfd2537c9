import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { concernedOf, type Incident } from '../core/incident/incident.ts'
import { areCovering, isAbout, type Silence, type SilencedIncident } from '../core/incident/silence.ts'
import { periodAt } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { Store } from '../store/store.ts'

export type Silences = ReturnType<typeof createSilences>

export interface NewSilence extends Pick<Silence, 'network' | 'endpoint' | 'reason'> {
  readonly forMs: number
}

/** A bound for the memory, and for a mistake in a script. */
const MOST_ACTIVE = 500
const ID_CHARACTERS = 8

/** The silences: in memory while they hold, so that they apply at once, and in the store. */
export function createSilences({ clock, store, reads = store, log }: SilencesDeps) {
  const known = new Map<string, Silence>()
  let begun = 0

  function held(): Silence[] {
    const now = clock.now()
    return [...known.values()].filter(({ until }) => until > now)
  }

  function keep(silence: Silence, message: string): Silence {
    const { id, network, endpoint } = silence
    known.set(id, silence)
    store.saveSilence(silence)
    log.info({ silence: id, network, ...(endpoint !== null && { endpoint }) }, message)
    return silence
  }

  return {
    /** Those that hold now; the one that ends first comes first. */
    active: (): readonly Silence[] => held().sort((a, b) => a.until - b.until),

    /** Loads what is stored; rejects if that cannot be read. Call it before incidents are recorded. */
    async restore(): Promise<void> {
      for (const silence of await reads.silences({ from: clock.now(), to: Number.MAX_SAFE_INTEGER })) {
        // What was ended here is perhaps not stored yet.
        if (!known.has(silence.id)) known.set(silence.id, silence)
      }
    },

    /** `null` if there are too many. */
    add({ forMs, ...silence }: NewSilence): Silence | null {
      const others = held()
      if (others.length >= MOST_ACTIVE) return null
      known.clear()
      for (const other of others) known.set(other.id, other)
      const from = clock.now()
      const id = randomUUID().slice(0, ID_CHARACTERS)
      begun++
      return keep({ id, ...silence, from, until: from + Math.floor(forMs) }, 'silence begins')
    },

    /** Ends it now; `null` if no silence of that id holds. */
    end(id: string): Silence | null {
      const silence = known.get(id)
      const now = clock.now()
      if (silence === undefined || silence.until <= now) return null
      return keep({ ...silence, until: now }, 'silence ended')
    },

    /** Takes over one that another daemon with the same store began or ended. */
    learn(silence: Silence): void {
      const before = known.get(silence.id)
      // One that was ended here may not be stored yet.
      const isNews = before === undefined ? silence.until > clock.now() : silence.until < before.until
      if (!isNews) return
      known.set(silence.id, silence)
      if (before === undefined) begun++
    },

    /** How many have begun in this run. */
    begun: (): number => begun,

    /** Whether it is on disk, with this end or an earlier one: another daemon may have ended it too. */
    async isStored({ id, network, from, until }: Silence): Promise<boolean> {
      const stored = await store.silences({ network, from: from - 1, to: from + 1 })
      return stored.some((one) => one.id === id && one.until <= until)
    },

    /** Whether nothing is to be sent about the incident now. */
    covers: (incident: SilencedIncident): boolean => known.size > 0 && areCovering(held(), incident),

    /** Those that held at some time of the incident, in order, also for a part of its endpoints. */
    async during(incident: Incident): Promise<readonly Silence[]> {
      const { network, openedAt: from, closedAt } = incident
      const to = closedAt ?? Number.MAX_SAFE_INTEGER
      const stored = await store.silences({ network, from, to })
      const all = new Map([...stored, ...known.values()].map((silence) => [silence.id, silence]))
      return [...all.values()]
        .filter((silence) => isAbout(silence, incident) && silence.until > from && silence.from < to)
        .sort((a, b) => a.from - b.from)
    },
  }
}

/** Whether all endpoints that it concerns are in planned maintenance, in which nothing opens, worsens or repeats. */
export function isMaintained(incident: SilencedIncident, board: Pick<Board, 'entry'>, now: UnixMs): boolean {
  const names = concernedOf(incident)
  const isOne = (name: string) => periodAt(board.entry(incident.network, name)?.maintenance ?? [], now) !== null
  return names.length > 0 && names.every(isOne)
}

export interface SilencesDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly store: Pick<Store, 'saveSilence' | 'silences'>
  /** Rejects if they cannot be read, where the store does not. */
  readonly reads?: Pick<Store, 'silences'> | undefined
  readonly log: Log
}
