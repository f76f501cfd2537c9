import type { EndpointKey } from '../../core/endpoint.ts'
import type { TimeRange } from '../../core/verdict/availability.ts'
import type { Batch, Registration, WriteEvent } from '../batches.ts'
import { POLL_NUMBERS } from '../poll-columns.ts'

/** Sorts a batch by what is written; `registered` gains what it registers. */
export function planOf(batch: Batch, registered: Map<number, Registration>): Plan {
  const plan: Plan = {
    batch,
    registered,
    registrations: [],
    amends: [],
    merged: [],
    healths: new Map(),
    hashChanges: [],
    plans: [],
    records: [],
    names: new Set(),
    times: [],
    changed: new Map(),
  }
  for (const placed of batch.events) addEvent(plan, registered, placed)
  for (let from = 0; from < batch.polls.length; from += POLL_NUMBERS) {
    const index = batch.polls[from] as number
    const at = batch.polls[from + 1] as number
    plan.times.push(at)
    noteChange(plan, index, at, at + 1)
  }
  for (const index of plan.changed.keys()) {
    const registration = registered.get(index)
    if (registration !== undefined) plan.names.add(registration.endpoint)
  }
  return plan
}

export type Placed<K extends WriteEvent['kind']> = {
  readonly after: number
  readonly event: Extract<WriteEvent, { kind: K }>
}
export type RecordEvent = Extract<
  WriteEvent,
  { kind: 'save-incident' | 'save-notification' | 'save-silence' | 'save-note' | 'save-alias' | 'admin-call' }
>

/** What a batch writes, by kind. */
export interface Plan {
  readonly batch: Batch
  readonly registered: ReadonlyMap<number, Registration>
  readonly registrations: Registration[]
  readonly amends: Placed<'amend'>[]
  readonly merged: Placed<'merged'>['event'][]
  readonly healths: Map<EndpointKey, Placed<'save-health'>['event']>
  readonly hashChanges: Placed<'hash-change'>['event'][]
  readonly plans: Placed<'maintain'>['event'][]
  readonly records: RecordEvent[]
  /** Of all endpoints in it. */
  readonly names: Set<EndpointKey>
  /** Of all polls in it. */
  readonly times: number[]
  /** By index, the time in which polls are added or changed. */
  readonly changed: Map<number, TimeRange>
}

function addEvent(plan: Plan, registered: Map<number, Registration>, { after, event }: Batch['events'][number]): void {
  switch (event.kind) {
    case 'register':
      for (const registration of event.registrations) {
        registered.set(registration.index, registration)
        plan.registrations.push(registration)
        plan.names.add(registration.endpoint)
      }
      return
    case 'amend':
      plan.amends.push({ after, event })
      noteChange(plan, event.index, event.from, event.to)
      return
    case 'merged':
      plan.merged.push(event)
      plan.times.push(event.at)
      noteChange(plan, event.index, event.since, event.at + 1)
      return
    case 'save-health':
      plan.healths.set(event.endpoint, event)
      plan.names.add(event.endpoint)
      return
    case 'hash-change':
      plan.hashChanges.push(event)
      noteChange(plan, event.index, event.at, event.at)
      return
    case 'maintain':
      plan.plans.push(event)
      for (const { endpoint } of event.periods) plan.names.add(endpoint)
      return
    case 'save-incident':
    case 'save-notification':
    case 'save-silence':
    case 'save-note':
    case 'save-alias':
    case 'admin-call':
      plan.records.push(event)
      return
  }
}

function noteChange({ changed }: Plan, index: number, from: number, until: number): void {
  const known = changed.get(index)
  const range = { from: Math.min(from, known?.from ?? from), until: Math.max(until, known?.until ?? until) }
  changed.set(index, range)
}
