import type { Clock } from '../clock.ts'
import { createLoop } from '../cluster/loop.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { Silence } from '../core/incident/silence.ts'
import type { AliasRecord } from '../core/routing/alias.ts'
import type { Log } from '../log.ts'
import { earlierIncidents } from '../poll/incident-recorder.ts'
import { readIncident, type WritableIncidentLog } from '../state/incident-log.ts'
import type { FencedIncident, SharedStore } from '../store/postgres/shared-store.ts'
import type { IncidentRecord, Store } from '../store/store.ts'

/**
 * Follows what the other members of a cluster write: the incidents of networks that they keep, silences, and aliases of
 * the gateway. Notifications and notes are read from the store when they are shown.
 */
export function followOtherMembers(deps: OtherMembersDeps) {
  const { store, shared, incidents, keeps, clock, log } = deps
  const loop = createLoop({ clock, everyMs: READ_EVERY_MS, run: follow })
  let position: string | null = null
  /** Networks whose incidents must be read again. */
  const unread = new Set<string>()
  let isFailing = false

  /** Whether an earlier keeper has written it while this member keeps the network. */
  function isLate(incident: Incident, token: number | undefined): boolean {
    const known = incidents.known(incident.id)
    const isOpen = incident.closedAt === null
    // What this member itself has closed, it may have forgotten.
    const isEarlier = token === undefined ? isOpen : token < (deps.keeperToken(incident.network) ?? 0)
    return isEarlier && (known === undefined || (!isOpen && known.closedAt === null))
  }

  function learn(records: readonly (IncidentRecord & Partial<FencedIncident>)[]): void {
    const late: Incident[] = []
    for (const { id, network, value, token } of records) {
      const incident = readIncident(value)
      if (incident?.id !== id) continue
      if (keeps(network)) {
        if (isLate(incident, token)) late.push(incident)
        continue
      }
      const known = incidents.known(id)
      // A row may be read twice, but readers get changes only.
      if (JSON.stringify(known) !== JSON.stringify(incident)) incidents.put(incident)
    }
    if (late.length > 0) deps.onLate(late)
  }

  async function read(): Promise<void> {
    const changes = await shared.changesAfter(position)
    learn(changes.incidents ?? (await earlierIncidents(store.certain)))
    for (const silence of changes.silences) deps.onSilence(silence)
    if (changes.aliases.length > 0) deps.onAliases(changes.aliases)
    position = changes.position
    if (unread.size === 0) return
    const networks = [...unread]
    const records = await earlierIncidents(store.certain, networks)
    for (const network of networks) {
      unread.delete(network)
      if (!keeps(network)) incidents.forget(network)
    }
    learn(records)
  }

  async function follow(): Promise<undefined> {
    try {
      await read()
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ error: String(error) }, 'changes of other members cannot be read')
      isFailing = true
    }
  }

  return {
    start: (): void => void loop.start(),

    /** Reads the incidents of a network again that this member no longer keeps: some of ours may have been refused. */
    readAnew(network: string): void {
      unread.add(network)
    },

    stop: loop.stop,
  }
}

export interface OtherMembersDeps {
  readonly store: Pick<Store, 'certain'>
  readonly shared: Pick<SharedStore, 'changesAfter'>
  readonly incidents: WritableIncidentLog
  /** Whether this member writes the incidents of the network itself. */
  readonly keeps: (network: string) => boolean
  /** Of the right to write them; `null` without it. */
  readonly keeperToken: (network: string) => number | null
  /** Other members have written incidents of networks that they no longer keep: their messages may wait. */
  readonly onLate: (late: readonly Incident[]) => void
  readonly onSilence: (silence: Silence) => void
  readonly onAliases: (aliases: readonly AliasRecord[]) => void
  readonly clock: Pick<Clock, 'after' | 'monotonic'>
  readonly log: Log
}

const READ_EVERY_MS = 1000
