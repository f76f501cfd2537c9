import type { EndpointKey } from '../core/endpoint.ts'
import type { Log } from '../log.ts'
import type { BatchQueue, Registration, WriteEvent } from './batches.ts'
import { outcomeOf } from './poll-columns.ts'
import type { Store } from './store.ts'

type WriteMethods =
  | 'register'
  | 'poll'
  | 'amend'
  | 'hashChange'
  | 'saveHealth'
  | 'saveIncident'
  | 'saveAlias'
  | 'adminCall'
  | 'maintain'

/** The store's write methods: each queues its write, and none waits, throws or blocks. */
export interface StoreWrites {
  readonly methods: Pick<Store, WriteMethods>
  registrations(): readonly Registration[]
  /** Number of writes for endpoints that were never registered. */
  readonly dropped: number
}

export interface StoreWritesDeps {
  readonly queue: BatchQueue
  readonly wake: () => void
  readonly log: Log
}

export function createStoreWrites({ queue, wake, log }: StoreWritesDeps): StoreWrites {
  const registered = new Map<EndpointKey, Registration>()
  let dropped = 0

  function push(event: WriteEvent): void {
    queue.pushEvent(event)
    wake()
  }

  /** `null` if unregistered, since it is then unknown how long the endpoint's results hold. */
  function indexOf(endpoint: EndpointKey): number | null {
    const found = registered.get(endpoint)
    if (found !== undefined) return found.index
    if (dropped++ === 0) log.error({ endpoint }, 'a poll of an unregistered endpoint is not stored')
    return null
  }

  const methods: Pick<Store, WriteMethods> = {
    register(endpoints, at) {
      const registrations = endpoints.map(({ endpoint, holdMs }) => {
        const index = registered.get(endpoint)?.index ?? registered.size
        const registration = { index, endpoint, holdMs: Math.round(holdMs), at: Math.floor(at) }
        registered.set(endpoint, registration)
        return registration
      })
      push({ kind: 'register', registrations })
    },

    poll(record) {
      const index = indexOf(record.endpoint)
      if (index === null || !Number.isFinite(record.at)) return
      queue.pushPoll(index, record)
      wake()
    },

    amend(endpoint, from, to, state, fresh) {
      const index = indexOf(endpoint)
      if (index === null || !(to > from)) return
      const verdict = outcomeOf(state, fresh, null)
      push({ kind: 'amend', index, from: Math.floor(from), to: Math.ceil(to), verdict })
    },

    hashChange({ endpoint, at, ...change }) {
      const index = indexOf(endpoint)
      if (index !== null) push({ kind: 'hash-change', index, at: Math.floor(at), ...change })
    },

    saveHealth({ endpoint, at, value }) {
      push({ kind: 'save-health', endpoint, at: Math.floor(at), json: JSON.stringify(value) ?? 'null' })
    },

    saveIncident({ value, openedAt, closedAt, ...incident }) {
      const times = { openedAt: Math.floor(openedAt), closedAt: closedAt === null ? null : Math.floor(closedAt) }
      push({ kind: 'save-incident', incident: { ...incident, ...times, json: JSON.stringify(value) ?? 'null' } })
    },

    saveAlias(alias) {
      const stale = alias.stale === null ? null : { ...alias.stale, at: Math.floor(alias.stale.at) }
      push({ kind: 'save-alias', alias: { ...alias, at: Math.floor(alias.at), stale } })
    },

    adminCall: (call) => push({ kind: 'admin-call', call: { ...call, at: Math.floor(call.at) } }),

    maintain(periods, at) {
      const whole = periods.map(({ endpoint, from, until }) => {
        return { endpoint, from: Math.floor(from), until: Math.floor(until) }
      })
      push({ kind: 'maintain', at: Math.floor(at), periods: whole })
    },
  }

  return {
    methods,
    registrations: () => [...registered.values()],
    get dropped() {
      return dropped
    },
  }
}
