import { type EndpointKey, networkOf } from '../../core/endpoint.ts'
import type { HeldLease } from '../cluster-tables.ts'
import type { Marks } from '../marks.ts'
import { POLL_NUMBERS, VERDICT_BITS } from '../poll-columns.ts'
import { type ChangedTimes, noteChange } from '../recount.ts'
import type { Batch, Fence, IncidentJson, NotificationJson, RecordEvent, Registration } from '../write-events.ts'
import { bigints } from './arrays.ts'
import { type EventOf, type Plan, planOf } from './batch-plan.ts'
import { LATEST_POSSIBLE } from './cluster-tables.ts'
import type { Database } from './database.ts'
import { allows, holdKept, type Losses, lostAt, type Owned, readLosses, rightToKeep } from './fences.ts'
import { createEndpointIds, type EndpointIds, registerHolds } from './ids.ts'
import { aggregatedTo, lockAlone, lockShared } from './marks.ts'
import type { Partitions } from './partitions.ts'
import { amendPolls, insertPolls, MERGED } from './polls.ts'
import {
  addAdminCall,
  type Fenced,
  saveAlias,
  saveIncidents,
  saveNote,
  saveNotifications,
  saveSilence,
} from './records.ts'
import { changesMaintenance, recount, replaceMaintenance } from './recount-stored.ts'
import type { Query } from './sessions.ts'

export interface Outcome {
  readonly rows: number
  /** Rows about a network that another member of the cluster had claimed before. */
  readonly refused: number
}

export interface BatchWriterDeps {
  readonly database: Pick<Database, 'query' | 'transaction'>
  readonly partitions: Pick<Partitions, 'ensure'>
  readonly vantageId: () => Promise<number>
  /** `null` without a cluster. */
  readonly cluster: { readonly vantage: string; readonly member: string } | null
}

/** Writes batches, each in one transaction. Writing one again changes nothing. */
export function createBatchWriter({ database, partitions, vantageId, cluster }: BatchWriterDeps) {
  const ids = createEndpointIds(database.query)

  async function writeIn(query: Query, plan: Plan, marks: Marks): Promise<Outcome> {
    const ownVantage = await vantageId()
    if (plan.registrations.length > 0) await registerHolds(query, ids, plan.registrations)
    const rights = cluster === null ? [] : rightsOf(plan, cluster.vantage)
    const losses = await readLosses(query, cluster?.member ?? '', rights)
    // Without those of polls that were made after another's claim: an amendment ends with the poll that caused it.
    const amends = ownedOf(plan.amends, plan, (event, lost) => event.to < lost, losses)
    for (const event of amends.kept) {
      await amendPolls(query, ownVantage, { ...event, endpointId: ids.idOf(event.endpoint) })
    }
    const kept = keepPolls(plan, amends.kept, losses, ids)
    await insertPolls(query, ownVantage, kept.polls)
    const merged = mergedOf(plan, losses, ids)
    for (const amendment of merged.amendments) await amendPolls(query, MERGED, amendment)
    await insertPolls(query, MERGED, merged.polls)
    const found = await writeFound(query, plan, losses, ownVantage)
    for (const event of plan.plans) await replaceMaintenance(query, marks, ids, event)
    if (isLate(plan.changed, marks)) await recount(query, marks, changedIds(plan, ids))
    const records = await writeRecords(query, plan)
    const refused = amends.refused + kept.refused + merged.refused + found.refused + records.refused
    return { rows: kept.polls.length / POLL_NUMBERS, refused }
  }

  /** What polls found out that is saved as well. */
  async function writeFound(query: Query, plan: Plan, losses: Losses, ownVantage: number) {
    const healths = [...plan.healths.values()].filter((event) => event.at < lostAt(losses, event))
    await saveHealths(query, ids, ownVantage, healths)
    const hashChanges = ownedOf(plan.hashChanges, plan, (event, lost) => event.at < lost, losses)
    await addHashChanges(query, ids, ownVantage, hashChanges.kept)
    return { refused: plan.healths.size - healths.length + hashChanges.refused }
  }

  /** Comes last, because leases cannot be renewed until the transaction ends. */
  async function writeRecords(query: Query, { records }: Plan) {
    const fences = cluster === null ? [] : records.flatMap((event) => fenceOf(event) ?? [])
    const losses = await holdKept(query, cluster?.member ?? '', fences)
    const refused = new Set(
      records.filter((event) => {
        const fence = fenceOf(event)
        return fence !== null && !allows(losses, fence)
      }),
    )
    const kept = records.filter((event) => !refused.has(event))
    const told = records.flatMap((event) => {
      const all = notificationsOf(event)
      return refused.has(event) ? all.filter(({ record }) => isSent(record)) : all
    })
    await saveIncidents(query, kept.flatMap(incidentOf))
    await saveNotifications(query, told)
    for (const event of kept) await writeOther(query, event, cluster?.member ?? '')
    return { refused: refused.size }
  }

  return {
    /** `registered`: the endpoints that polls refer to by index; the batch may add some. */
    async write(batch: Batch, registered: Map<number, Registration>): Promise<Outcome> {
      const plan = planOf(batch, registered)
      await ids.ensure(plan.names)
      await partitions.ensure(plan.times)
      const outcome = await database.transaction(async (query) => {
        const marks = await lockShared(query)
        const needsAll = isLate(plan.changed, marks) || (await changesMaintenance(query, marks, ids, plan.plans))
        // Two that hold the lock together would wait for each other to have it alone.
        return needsAll ? null : writeIn(query, { ...plan, plans: [] }, marks)
      })
      return outcome ?? database.transaction(async (query) => writeIn(query, plan, await lockAlone(query)))
    },
  }
}

/** Whether buckets that a roll-up has written, or writes now, may miss some of it. */
function isLate(changed: ChangedTimes, marks: Marks): boolean {
  const doneTo = aggregatedTo(marks)
  for (const { from } of changed.values()) if (from < doneTo) return true
  return false
}

function changedIds({ changed, registered }: Plan, ids: EndpointIds): ChangedTimes {
  const byId: ChangedTimes = new Map()
  for (const [index, { from, until }] of changed) {
    const registration = registered.get(index)
    if (registration !== undefined) noteChange(byId, ids.idOf(registration.endpoint), from, until)
  }
  return byId
}

function* rightsOf({ changed, registered, healths, merged }: Plan, vantage: string): Generator<HeldLease> {
  const poll = ({ endpoint, token }: Owned): HeldLease[] =>
    token === undefined ? [] : [{ kind: 'poll', vantage, network: networkOf(endpoint), token }]
  for (const index of changed.keys()) yield* poll(registered.get(index) ?? UNREGISTERED)
  for (const event of healths.values()) yield* poll(event)
  for (const { fence } of merged) yield rightToKeep(fence)
}

const UNREGISTERED: Owned = { endpoint: '/' }

/** The events about endpoints that this daemon still owned, with their endpoints. */
function ownedOf<E extends { readonly index: number }>(
  events: readonly E[],
  { registered }: Plan,
  isInTime: (event: E, lost: number) => boolean,
  losses: Losses,
) {
  const kept: (E & { readonly endpoint: EndpointKey })[] = []
  let refused = 0
  for (const event of events) {
    const registration = registered.get(event.index)
    if (registration === undefined) continue
    if (isInTime(event, lostAt(losses, registration))) kept.push({ ...event, endpoint: registration.endpoint })
    else refused++
  }
  return { kept, refused }
}

type OfEndpoint = { readonly endpoint: EndpointKey }
type Amend = EventOf<'amend'> & OfEndpoint & { readonly after: number }

/** The polls with endpoint ids instead of indexes: without those that were polled after another's claim, and amended. */
function keepPolls({ batch, registered }: Plan, amends: readonly Amend[], losses: Losses, ids: EndpointIds) {
  const polls = new Float64Array(batch.polls.length)
  const places = new Map<string, number>()
  let end = 0
  let refused = 0
  for (let from = 0; from < batch.polls.length; from += POLL_NUMBERS) {
    const registration = registered.get(batch.polls[from] as number)
    const at = batch.polls[from + 1] as number
    if (registration === undefined) continue
    const { endpoint } = registration
    if (at >= lostAt(losses, registration)) {
      refused++
      continue
    }
    const id = ids.idOf(endpoint)
    // The latest of two polls of the same millisecond.
    const place = places.get(`${id} ${at}`) ?? end
    places.set(`${id} ${at}`, place)
    if (place === end) end += POLL_NUMBERS
    polls.set(batch.polls.subarray(from, from + POLL_NUMBERS), place)
    polls[place] = id
    const row = from / POLL_NUMBERS
    for (const amend of amends) {
      // Polls of an endpoint have several indexes if the token has changed.
      if (row >= amend.after || amend.endpoint !== endpoint || at < amend.from || at >= amend.to) continue
      polls[place + 2] = ((polls[place + 2] as number) & ~VERDICT_BITS) | amend.verdict
    }
  }
  return { polls: polls.subarray(0, end), refused }
}

/** The rows of merged states, and how they change earlier ones. */
function mergedOf({ merged, registered }: Plan, losses: Losses, ids: EndpointIds) {
  const rows = new Map<string, { id: number; at: number; verdict: number }>()
  const amendments: { endpointId: number; from: number; to: number; verdict: number }[] = []
  let refused = 0
  for (const { index, at, since, verdict, fence } of merged) {
    const registration = registered.get(index)
    if (registration === undefined) continue
    if (!allows(losses, fence)) {
      refused++
      continue
    }
    const id = ids.idOf(registration.endpoint)
    if (since < at) {
      amendments.push({ endpointId: id, from: since, to: at, verdict })
      for (const row of rows.values()) if (row.id === id && row.at >= since && row.at < at) row.verdict = verdict
    }
    rows.set(`${id} ${at}`, { id, at, verdict })
  }
  const polls = new Float64Array(rows.size * POLL_NUMBERS).fill(Number.NaN)
  let from = 0
  for (const { id, at, verdict } of rows.values()) {
    polls.set([id, at, verdict], from)
    from += POLL_NUMBERS
  }
  return { polls, amendments, refused }
}

/** A sent message stays sent, even if the daemon has lost the network since: only that daemon knows. */
function fenceOf(event: RecordEvent): Fence | null {
  if (event.kind === 'save-notification' && isSent(event.notification)) return null
  return ('fence' in event && event.fence) || null
}

const isSent = ({ waiting }: NotificationJson): boolean => !waiting

async function saveHealths(query: Query, ids: EndpointIds, vantageId: number, rows: readonly EventOf<'save-health'>[]) {
  if (rows.length === 0) return
  await query(
    `INSERT INTO saved_health (vantage_id, endpoint_id, at_ms, value)
     SELECT $1::smallint, * FROM unnest($2::bigint[], $3::bigint[], $4::text[])
     ON CONFLICT (vantage_id, endpoint_id) DO UPDATE SET at_ms = excluded.at_ms, value = excluded.value
     WHERE saved_health.at_ms <= excluded.at_ms OR to_timestamp(saved_health.at_ms / 1000.0) > ${LATEST_POSSIBLE}`,
    [
      vantageId,
      bigints(rows.map(({ endpoint }) => ids.idOf(endpoint))),
      bigints(rows.map(({ at }) => at)),
      rows.map(({ json }) => json),
    ],
  )
}

async function addHashChanges(
  query: Query,
  ids: EndpointIds,
  vantageId: number,
  rows: readonly (EventOf<'hash-change'> & OfEndpoint)[],
) {
  if (rows.length === 0) return
  await query(
    `INSERT INTO hash_changes (vantage_id, at_ms, endpoint_id, shard, height, hash, previous_hash)
     SELECT $1::smallint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
     ON CONFLICT DO NOTHING`,
    [
      vantageId,
      bigints(rows.map(({ at }) => at)),
      bigints(rows.map(({ endpoint }) => ids.idOf(endpoint))),
      bigints(rows.map(({ shard }) => shard ?? -1)),
      bigints(rows.map(({ height }) => height)),
      rows.map(({ hash }) => hash),
      rows.map(({ previousHash }) => previousHash),
    ],
  )
}

function incidentOf(event: RecordEvent): Fenced<IncidentJson>[] {
  return event.kind === 'save-incident' ? [{ record: event.incident, token: event.fence?.token ?? null }] : []
}

function notificationsOf(event: RecordEvent): Fenced<NotificationJson>[] {
  const of = event.kind === 'save-notification' ? [event.notification] : []
  const all = event.kind === 'save-incident' ? event.notifications : of
  const token = 'fence' in event ? (event.fence?.token ?? null) : null
  return all.map((record) => ({ record, token }))
}

/** Writes what is neither an incident nor a notification: these come in great numbers, and are written together. */
async function writeOther(query: Query, event: RecordEvent, member: string): Promise<void> {
  switch (event.kind) {
    case 'save-incident':
    case 'save-notification':
      return
    case 'save-silence':
      return saveSilence(query, event.silence)
    case 'save-note':
      return saveNote(query, event.note)
    case 'save-alias':
      return saveAlias(query, event.alias)
    case 'admin-call':
      return addAdminCall(query, member, event.call)
  }
}
