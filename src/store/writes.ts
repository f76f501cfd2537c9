import type { EndpointKey } from '../core/endpoint.ts'
import type { Log } from '../log.ts'
import type { BatchQueue, NotificationJson, Registration, WriteEvent } from './batches.ts'
import { outcomeOf } from './poll-columns.ts'
import type { IncidentRecord, NotificationRecord, Store } from './store.ts'

/** The store's write methods: each queues its write, and none waits, throws or blocks. */
export function createWrites(queue: BatchQueue, wake: () => void, log: Log) {
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

  const methods = {
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

    saveIncident(
      { value, openedAt, closedAt, ...incident }: IncidentRecord,
      notifications: readonly NotificationRecord[] = [],
    ) {
      const times = { openedAt: Math.floor(openedAt), closedAt: closedAt === null ? null : Math.floor(closedAt) }
      push({
        kind: 'save-incident',
        incident: { ...incident, ...times, json: JSON.stringify(value) ?? 'null' },
        notifications: notifications.map(asJson),
      })
    },

    saveNotification: (notification) => push({ kind: 'save-notification', notification: asJson(notification) }),

    saveSilence(silence) {
      const times = { from: Math.floor(silence.from), until: Math.floor(silence.until) }
      push({ kind: 'save-silence', silence: { ...silence, ...times } })
    },

    saveNote: (note) => push({ kind: 'save-note', note: { ...note, at: Math.floor(note.at) } }),

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
  } satisfies Partial<Store>

  return {
    methods,
    registrations: () => [...registered.values()],
    /** Number of writes for endpoints that were never registered. */
    get dropped() {
      return dropped
    },
  }
}

function asJson({ value, createdAt, ...notification }: NotificationRecord): NotificationJson {
  return { ...notification, createdAt: Math.floor(createdAt), json: JSON.stringify(value) ?? 'null' }
}
