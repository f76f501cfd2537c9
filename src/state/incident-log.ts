import * as z from 'zod'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import { INCIDENT_CAUSES, type Incident } from '../core/incident/incident.ts'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'

/** Holds the open incidents, and recently changed ones that may not be in the store yet. */
export interface IncidentLog {
  /** Open incidents that are not part of a network-wide one, newest first. */
  open(): readonly Incident[]
  /** Recently changed incidents, including closed and absorbed ones; they may be newer than the stored versions. */
  recent(): readonly Incident[]
  /** The endpoint's open incident, even if it is part of a network-wide one. */
  of(endpoint: { readonly network: string; readonly name: string }): Incident | null
  /** Calls `listener` synchronously after every change; returns a function that ends the subscription. */
  subscribe(listener: (incident: Incident) => void): () => void
}

export interface WritableIncidentLog extends IncidentLog {
  /** One that is open, or changed recently. */
  known(id: string): Incident | undefined
  put(incident: Incident): void
  /** Forgets what is known about the incidents of a network; readers then read them from the store. */
  forget(network: string): void
}

/** More than the store's queue holds while writing works. */
const MAX_RECENT = 512

export function createIncidentLog(): WritableIncidentLog {
  /** In the order of their latest changes. */
  const recent = new Map<string, Incident>()
  const open = new Map<string, Incident>()
  /** Open ones. A second one, which another daemon has opened, is closed as part of the first. */
  const byEndpoint = new Map<EndpointKey, readonly Incident[]>()
  const listeners = new Set<(incident: Incident) => void>()

  return {
    open: () =>
      [...open.values()]
        .filter((incident) => incident.absorbedBy === null)
        .sort((a, b) => b.openedAt - a.openedAt || (a.id < b.id ? 1 : -1)),

    recent: () => [...recent.values()],
    of: ({ network, name }) => byEndpoint.get(`${network}/${name}`)?.at(-1) ?? null,

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    known: (id) => recent.get(id) ?? open.get(id),

    forget(network) {
      for (const known of [recent, open]) {
        for (const [id, incident] of known) if (incident.network === network) known.delete(id)
      }
      for (const [key, [first]] of byEndpoint) if (first?.network === network) byEndpoint.delete(key)
    },

    put(incident) {
      recent.delete(incident.id)
      recent.set(incident.id, incident)
      for (const oldest of recent.keys()) {
        if (recent.size <= MAX_RECENT) break
        recent.delete(oldest)
      }
      const isOpen = incident.closedAt === null
      if (isOpen) open.set(incident.id, incident)
      else open.delete(incident.id)
      if (incident.endpoint !== null) {
        const key = endpointKey({ network: incident.network, name: incident.endpoint })
        const others = (byEndpoint.get(key) ?? []).filter(({ id }) => id !== incident.id)
        const now = isOpen ? [...others, incident] : others
        if (now.length > 0) byEndpoint.set(key, now)
        else byEndpoint.delete(key)
      }
      for (const listener of listeners) listener(incident)
    },
  }
}

/** Reads a stored incident; `null` if it is invalid: a file can be edited, damaged, or written by another version. */
export function readIncident(value: unknown): Incident | null {
  const read = StoredIncident.safeParse(value)
  return read.success ? read.data : null
}

const Name = z.string().min(1).max(128)
/** The range of `Date`, from 1970 on. */
const Time = z.number().min(0).max(8.64e15)
const Count = z.int().min(0)
const Code = z.enum([...CONDITION_CODES, 'halted'])
const State = z.enum(VERDICTS)

export const StoredIncident = z.object({
  id: z.string().min(1).max(256),
  network: Name,
  endpoint: Name.nullable(),
  cause: z.enum(INCIDENT_CAUSES),
  provider: Name.nullable().default(null),
  state: State,
  openedAt: Time,
  plannedUntil: Time.nullable().optional(),
  confirmedAt: Time,
  closedAt: Time.nullable(),
  conditions: z.array(
    z.object({
      code: Code,
      state: State,
      message: z.string(),
      isAlone: z.literal(true).optional(),
      shards: z.array(z.int()).optional(),
      since: Time,
      until: Time.nullable(),
    }),
  ),
  changes: z.array(
    z.object({
      at: Time,
      state: State,
      codes: z.array(Code),
      samples: z.array(
        z.object({
          endpoint: Name,
          shard: Count.nullable(),
          height: Count.nullable(),
          lagBlocks: Count.nullable(),
          latencyMs: z.number().min(0).nullable(),
        }),
      ),
    }),
  ),
  flaps: Count,
  flapping: z.boolean(),
  absorbedBy: z.string().min(1).max(256).nullable(),
  affected: z.array(Name),
  vantages: z.array(Name).optional(),
}) satisfies z.ZodType<Incident>
