import type { EndpointKey } from '../../core/endpoint.ts'
import { POLL_NUMBERS } from '../poll-columns.ts'
import { type ChangedTimes, noteChange } from '../recount.ts'
import type { Batch, RecordEvent, Registration, WriteEvent } from '../write-events.ts'

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
    noteChange(plan.changed, index, at, at + 1)
  }
  for (const index of plan.changed.keys()) {
    const registration = registered.get(index)
    if (registration !== undefined) plan.names.add(registration.endpoint)
  }
  return plan
}

export type EventOf<K extends WriteEvent['kind']> = Extract<WriteEvent, { kind: K }>

/** What a batch writes, by kind. */
export interface Plan {
  readonly batch: Batch
  readonly registered: ReadonlyMap<number, Registration>
  readonly registrations: Registration[]
  /** Each changes only the polls before it. */
  readonly amends: (EventOf<'amend'> & { readonly after: number })[]
  readonly merged: EventOf<'merged'>[]
  readonly healths: Map<EndpointKey, EventOf<'save-health'>>
  readonly hashChanges: EventOf<'hash-change'>[]
  readonly plans: EventOf<'maintain'>[]
  readonly records: RecordEvent[]
  /** Of all endpoints in it. */
  readonly names: Set<EndpointKey>
  /** Of all polls in it. */
  readonly times: number[]
  /** By index, the time in which polls are added or changed. */
  readonly changed: ChangedTimes
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
      plan.amends.push({ ...event, after })
      noteChange(plan.changed, event.index, event.from, event.to)
      return
    case 'merged':
      plan.merged.push(event)
      plan.times.push(event.at)
      noteChange(plan.changed, event.index, event.since, event.at + 1)
      return
    case 'save-health':
      plan.healths.set(event.endpoint, event)
      plan.names.add(event.endpoint)
      return
    case 'hash-change':
      plan.hashChanges.push(event)
      noteChange(plan.changed, event.index, event.at, event.at)
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
