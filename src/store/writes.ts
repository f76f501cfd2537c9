import { type EndpointKey, networkOf } from '../core/endpoint.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { BatchQueue } from './batch-queue.ts'
import { outcomeOf } from './poll-columns.ts'
import type { IncidentRecord, NotificationRecord, PollRecord, Store } from './store.ts'
import type { Fence, NotificationJson, Registration, WriteEvent } from './write-events.ts'

/** The store's write methods: each queues its write, and none waits, throws or blocks. */
export function createWrites(queue: BatchQueue, wake: () => void, log: Log, fencing: Fencing | null = null) {
  const registered = new Map<EndpointKey, Registration>()
  /** By network, the last one. */
  const keeperTokens = new Map<string, number>()
  let nextIndex = 0
  let dropped = 0

  function push(event: WriteEvent): void {
    queue.pushEvent(event)
    wake()
  }

  /** Between two leases the last token stands: it is refused if another daemon has claimed the network since. */
  function pollTokenOf(endpoint: EndpointKey): number | null {
    if (fencing === null) return null
    return fencing.pollToken(networkOf(endpoint)) ?? registered.get(endpoint)?.token ?? NO_TOKEN
  }

  /** The index of the endpoint's polls: in a cluster a new one for each token. */
  function pollIndexOf(endpoint: EndpointKey): number | null {
    const known = registered.get(endpoint)
    const token = pollTokenOf(endpoint)
    if (token === null || known === undefined) return indexOf(endpoint)
    if (known.token === token) return known.index
    const registration = { ...known, index: nextIndex++, token }
    registered.set(endpoint, registration)
    push({ kind: 'register', registrations: [registration] })
    return registration.index
  }

  function fenceOf(network: string | undefined): { readonly fence?: Fence } {
    if (fencing === null || network === undefined) return {}
    const token = fencing.keeperToken(network) ?? keeperTokens.get(network) ?? NO_TOKEN
    keeperTokens.set(network, token)
    return { fence: { network, token, at: Math.floor(fencing.now()), isAway: fencing.isAway() } }
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
        const known = registered.get(endpoint)
        const token = known?.token === undefined ? {} : { token: known.token }
        const index = known?.index ?? nextIndex++
        const registration = { index, endpoint, holdMs: Math.round(holdMs), at: Math.floor(at), ...token }
        registered.set(endpoint, registration)
        return registration
      })
      push({ kind: 'register', registrations })
    },

    poll(record) {
      const index = pollIndexOf(record.endpoint)
      if (index === null || !Number.isFinite(record.at)) return
      queue.pushPoll(index, record)
      wake()
    },

    amend(endpoint, from, to, state, fresh) {
      const index = pollIndexOf(endpoint)
      if (index === null || !(to > from)) return
      const verdict = outcomeOf(state, fresh, null)
      push({ kind: 'amend', index, from: Math.floor(from), to: Math.ceil(to), verdict })
    },

    hashChange({ endpoint, at, ...change }) {
      const index = pollIndexOf(endpoint)
      if (index !== null) push({ kind: 'hash-change', index, at: Math.floor(at), ...change })
    },

    saveHealth({ endpoint, at, value }) {
      const json = JSON.stringify(value) ?? 'null'
      const token = pollTokenOf(endpoint)
      push({ kind: 'save-health', endpoint, at: Math.floor(at), json, ...(token === null ? {} : { token }) })
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
        ...fenceOf(incident.network),
      })
    },

    saveNotification({ network, ...notification }) {
      push({ kind: 'save-notification', notification: asJson(notification), ...fenceOf(network) })
    },

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
    /** Only in a cluster, by the keeper of the network. */
    merged({ endpoint, at, since, state, fresh }: MergedRecord): void {
      const index = indexOf(endpoint)
      const { fence } = fenceOf(networkOf(endpoint))
      if (index === null || fence === undefined) return
      const verdict = outcomeOf(state, fresh, null)
      const from = Math.floor(Math.min(at, Math.max(since, at - LONGEST_AMENDED_MS)))
      push({ kind: 'merged', index, at: Math.floor(at), since: from, verdict, fence })
    },
    registrations: () => [...registered.values()],
    /** Number of writes for endpoints that were never registered. */
    get dropped() {
      return dropped
    },
  }
}

/** The rights of a cluster under which rows are written. */
export interface Fencing {
  /** The token of the right to poll the network from here; `null` without it. */
  pollToken(network: string): number | null
  /** The token of the right to write the network's incidents; `null` without it. */
  keeperToken(network: string): number | null
  /** On the database's clock. */
  now(): UnixMs
  /** Whether writes wait for the database. */
  isAway(): boolean
}

/** What the places of a cluster found together, since when; earlier rows since then get the same state. */
export interface MergedRecord {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  readonly since: UnixMs
  readonly state: PollRecord['state']
  readonly fresh: boolean
}

/** Less than every token: such a row is stored only where no member has ever claimed the network. */
const NO_TOKEN = 0
/** A state is confirmed within minutes. */
const LONGEST_AMENDED_MS = 3_600_000

function asJson({ value, createdAt, ...notification }: NotificationRecord): NotificationJson {
  return { ...notification, createdAt: Math.floor(createdAt), json: JSON.stringify(value) ?? 'null' }
}
