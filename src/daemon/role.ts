import { type Clock, within } from '../clock.ts'
import type { Config } from '../config/resolve.ts'
import type { ClusterReport } from '../core/cluster/report.ts'
import type { Observer } from '../core/observer/observer.ts'
import type { GatewayService } from '../gateway/service.ts'
import { type Logger, placeOf } from '../log.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { Silences } from '../notify/silences.ts'
import {
  createIncidentRecorder,
  earlierIncidents,
  type IncidentRecorder,
  type IncidentRecorderDeps,
  recordOf,
} from '../poll/incident-recorder.ts'
import type { Poller } from '../poll/poller.ts'
import type { Scheduler } from '../poll/scheduler.ts'
import { createBoard, type WritableBoard } from '../state/board.ts'
import type { WritableIncidentLog } from '../state/incident-log.ts'
import type { Journal } from '../state/observer-journal.ts'
import type { WritableSightings } from '../state/sightings.ts'
import { type OpenedStore, readsAtStart } from '../store/open-store.ts'
import type { ClusterRights } from '../store/postgres/shared-store.ts'

/** What differs between a daemon alone and a member of a cluster; the rest of a daemon is the same in both. */
export interface Role {
  readonly clock: Clock
  /** What this daemon's place sees: read by the gateway and on-demand polls. Alone, it is the same as `shown`. */
  readonly local: WritableBoard
  /** What page, API, metrics and notifications show. */
  readonly shown: WritableBoard
  /** By which the store accepts what a member writes. */
  readonly rights: ClusterRights | null
  /** Whether this daemon polls the network; `undefined` if it polls all. */
  readonly polls: ((network: string) => boolean) | undefined
  /** Whether this daemon sends the network's notifications; `undefined` if it sends all. */
  readonly tells: ((network: string) => boolean) | undefined
  /** Whether no other daemon can send them by now; `undefined` if there is none. */
  readonly maySend: ((network: string) => boolean) | undefined
  /** Identifies this daemon in the store; `undefined` alone. */
  readonly name: string | undefined
  /** Records the incidents that follow from this daemon's polls. */
  recorder(deps: IncidentRecorderDeps): IncidentRecorder
  /** Call it before the first use of the clock that must be right. */
  synchronize(store: OpenedStore): Promise<void>
  /** Continues where an earlier run, or other daemons, are. Call it after `configure`. */
  restore(parts: RoleParts): Promise<void>
  /** Call it after the local board was configured. */
  configure(config: Config): void
  /** Resolves when this daemon does its part; never rejects. */
  start(): Promise<void>
  /** Whether everything on `shown` that others know is there, and what this daemon's place sees on `local`. */
  readonly isReady: boolean
  /** Whether this daemon runs the jobs of the store. */
  readonly runsJobs: boolean
  report(): ClusterReport | null
  /** Takes up nothing more. Call it when no poll runs. */
  stop(): Promise<void>
  /** Lets others take over. Call it after the last write. */
  leave(): Promise<void>
}

export interface RoleParts {
  readonly log: Logger
  readonly incidents: WritableIncidentLog
  readonly observer: Observer
  readonly journal: Journal
  readonly store: OpenedStore
  readonly silences: Silences
  readonly notifier: Notifier
  readonly poller: Poller
  /** Call it when the networks that this daemon polls have changed. */
  readonly reschedule: () => void
  readonly scheduler: Pick<Scheduler, 'pollSoon'>
  readonly sightings: Pick<WritableSightings, 'takeVote'>
  readonly gateway: () => GatewayService | null
}

/** A daemon without others. `mayBeAway`: its store is not on this machine. */
export function createAlone(clock: Clock, mayBeAway: boolean): Role {
  const board = createBoard()
  const stopping = new AbortController()
  let restoring: Promise<void> | null = null
  const nothing = () => Promise.resolve()
  return {
    clock,
    local: board,
    shown: board,
    rights: null,
    polls: undefined,
    tells: undefined,
    maySend: undefined,
    name: undefined,
    isReady: true,
    runsJobs: true,
    recorder: (deps) => recordingOnce(() => restoring === null, createIncidentRecorder(deps), mayBeAway),
    synchronize: nothing,

    async restore({ store, poller, journal, silences, notifier, gateway, log }) {
      const reads = readsAtStart(store)
      const read = () => Promise.all([reads.savedHealth(), earlierIncidents(reads), silences.restore()])
      // Goes on with what an earlier run has put aside.
      if (store.shared === null) await untilOpened(store, clock)
      else await within(clock, REPLAYED_WITHIN_MS, store.shared.replayed())
      try {
        const [saved, incidents] = await read()
        await notifier.restore()
        poller.restore(saved, incidents)
        journal.started(saved.reduce((last, { at }) => Math.max(last, at), 0))
      } catch {
        log.warn(
          {},
          'what was recorded before cannot be read yet: until then no incident is opened and no message sent',
        )
        journal.started(0)
        restoring = restoreLater().catch((error: unknown) => log.error({ error: placeOf(error) }, 'restoring failed'))
      }

      async function restoreLater(): Promise<void> {
        async function all() {
          const found = await Promise.all([read(), reads.aliases()])
          // Waiting messages are sent at once, so silences must be known.
          await notifier.restore()
          return found
        }
        const found = await untilRead(all, clock, stopping.signal)
        if (found === null) return
        const [[, incidents], aliases] = found
        gateway()?.learnAliases(aliases)
        // What was polled meanwhile is newer than what was saved.
        poller.restore([], incidents)
        restoring = null
      }
    },

    configure() {},
    report: () => null,
    start: nothing,
    async stop() {
      stopping.abort()
      await restoring
    },
    leave: nothing,
  }
}

/** Polling does not wait longer. */
const REPLAYED_WITHIN_MS = 5000
const READ_AGAIN_MS = 1000

/** Another process may hold the file for a moment. What cannot be read then is left out, as if it were damaged. */
async function untilOpened(store: OpenedStore, clock: Clock): Promise<void> {
  const end = clock.monotonic() + OPENED_WITHIN_MS
  for (;;) {
    const { trouble } = store.status()
    if (trouble === null || trouble === 'corrupt' || clock.monotonic() >= end) return
    await clock.sleep(LOOK_AGAIN_MS)
  }
}

const OPENED_WITHIN_MS = 5000
const LOOK_AGAIN_MS = 50

/** `null` once the signal is aborted. */
export async function untilRead<T>(read: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T | null> {
  while (!signal.aborted) {
    await clock.sleep(READ_AGAIN_MS, signal)
    const found = signal.aborted ? null : await read().catch(() => null)
    if (found !== null) return found
  }
  return null
}

/** Queues what a restart needs and memory has, for a store that has lost its file. */
export function saveState({ store, incidents, silences, poller, notifier, gateway }: SavedParts): void {
  poller.save()
  for (const incident of incidents.open()) store.saveIncident(recordOf(incident))
  for (const silence of silences.active()) store.saveSilence(silence)
  for (const alias of gateway()?.report().aliases ?? []) store.saveAlias(alias)
  notifier.saveWaiting()
}

type SavedParts = Pick<RoleParts, 'store' | 'incidents' | 'silences' | 'poller' | 'notifier' | 'gateway'>

/** Without what was recorded before, an open incident would be opened again, and a silence be ignored. */
function recordingOnce(isRestored: () => boolean, recorder: IncidentRecorder, mayBeAway: boolean): IncidentRecorder {
  if (!mayBeAway) return recorder
  return {
    ...recorder,
    judged(judged, entry, at, now, sharing) {
      if (isRestored()) recorder.judged(judged, entry, at, now, sharing)
    },
    standing(judged, halts, entries, now) {
      if (isRestored()) recorder.standing(judged, halts, entries, now)
    },
  }
}
