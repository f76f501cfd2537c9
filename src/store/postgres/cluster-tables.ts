import type { ClusterHint, ClusterTables, ClusterView, HeldLease, LeaseKey, StoredVote } from '../cluster-tables.ts'
import type { Use } from './connections.ts'
import type { Database } from './database.ts'
import { wellFormedJson } from './records.ts'
import { areOfOneServer, IS_NEW, NOTHING_SEEN, SEEN_NOW, type Seen } from './versions.ts'

/** Members, leases and votes in PostgreSQL. Each call is one statement: it happens as a whole, or not at all. */
export function createClusterTables(database: Database): ClusterTables {
  const listeners = new Map<(hint: ClusterHint) => void, string>()
  let isListening = false

  function hear(payload: string): void {
    const [hint, member] = payload.split(' ')
    if (hint !== 'votes' && hint !== 'leases') return
    for (const [listener, of] of listeners) if (member !== of) listener(hint)
  }

  const query = <Row>(text: string, values: readonly unknown[], use: Use = 'all else') =>
    database.query<Row>(text, values, { withinMs: ANSWER_WITHIN_MS, use })
  const queryLeases = <Row>(text: string, values: readonly unknown[]) => query<Row>(text, values, 'leases')

  async function readPage(seen: Seen, member: string, after: PagedVote | null): Promise<VotePage> {
    const [row] = await query<VotePage>(READ_VOTES, [
      seen,
      member,
      MOST_BYTES,
      after?.version ?? 0,
      after?.vantage ?? '',
      after?.network ?? '',
      after?.endpoint ?? '',
    ])
    if (row === undefined) throw new Error('no row')
    return row
  }

  return {
    async view() {
      const [row] = await queryLeases<ClusterView>(VIEW, [LISTED_MS])
      if (row === undefined) throw new Error('no row')
      return row
    },

    renew: ({ id, vantage, version, url, networksDigest, impaired, replaying }, held, leaseMs) =>
      queryLeases<HeldLease>(RENEW, [
        id,
        vantage,
        version,
        url,
        networksDigest,
        impaired,
        leaseMs,
        ...columnsOf(held),
        held.map(({ token }) => token),
        replaying,
      ]),

    claim: (member, wanted, leaseMs) => queryLeases<HeldLease>(CLAIM, [member, leaseMs, ...columnsOf(wanted)]),

    async release(member, held) {
      await queryLeases(RELEASE, [member, ...columnsOf(held), held.map(({ token }) => token)])
    },

    async leave(member) {
      await queryLeases(LEAVE, [member])
    },

    async writeVotes(member, vantage, votes, isUrgent) {
      await query(WRITE_VOTES, [member, vantage, wellFormedJson(JSON.stringify(votes)), isUrgent])
    },

    async readVotes(position, member) {
      const votes: StoredVote[] = []
      let seen = position ?? NOTHING_SEEN
      let first = await readPage(seen, member, null)
      if (seen !== NOTHING_SEEN && !areOfOneServer(seen, first.next)) {
        seen = NOTHING_SEEN
        first = await readPage(seen, member, null)
      }
      let page = first
      for (;;) {
        for (const vote of page.votes) votes.push(vote)
        const last = page.votes.at(-1)
        // What changes meanwhile is new to who has seen the first page.
        if (last === undefined || page.votes.length < PAGE_VOTES) return { votes, next: first.next }
        page = await readPage(seen, member, last)
      }
    },

    onHint(member, listener) {
      listeners.set(listener, member)
      if (!isListening) database.listen(CHANNEL, hear)
      isListening = true
      return () => void listeners.delete(listener)
    },
  }
}

function columnsOf(leases: readonly LeaseKey[]): string[][] {
  return [leases.map(({ kind }) => kind), leases.map(({ vantage }) => vantage), leases.map(({ network }) => network)]
}

/** Shorter than the shortest sensible lease: who waits longer for an answer must expect to have lost it. */
const ANSWER_WITHIN_MS = 3000
/** Of one statement: of all votes of a large cluster, the answer would come too late. */
const PAGE_VOTES = 1000
const LISTED_MS = 86_400_000
/** As stored. The largest vote of ours, of a node with hundreds of checks, has half of it. */
const MOST_BYTES = 65_536
const CHANNEL = 'heartline_cluster'

const msOf = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::float8`

const VIEW = `
  SELECT ${msOf('clock_timestamp()')} AS now,
    coalesce((SELECT json_agg(json_build_object(
        'id', id, 'vantage', vantage, 'version', version, 'url', url, 'networksDigest', networks_digest,
        'impaired', impaired, 'replaying', replaying, 'startedAt', ${msOf('started_at')}, 'seenAt', ${msOf('seen_at')}))
      FROM members WHERE seen_at > clock_timestamp() - $1 * interval '1 millisecond'), '[]') AS members,
    coalesce((SELECT json_agg(json_build_object(
        'kind', kind, 'vantage', vantage, 'network', network, 'member', member, 'token', token,
        'expiresAt', ${msOf('expires_at')}) ORDER BY kind DESC, vantage, network)
      FROM leases), '[]') AS leases`

/** In the order of the key, as the writer of incidents locks them: no two ever wait for each other. */
const LOCKED = 'ORDER BY kind, vantage, network FOR NO KEY UPDATE OF leases'
const OF_HELD = 'leases.kind = held.kind AND leases.vantage = held.vantage AND leases.network = held.network'

const RENEW = `
  WITH alive AS (
    INSERT INTO members (id, vantage, version, url, networks_digest, impaired, replaying, started_at, seen_at)
    VALUES ($1, $2, $3, $4, $5, $6, $12, clock_timestamp(), clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET networks_digest = excluded.networks_digest, impaired = excluded.impaired,
      replaying = excluded.replaying, url = excluded.url, seen_at = excluded.seen_at
  ), held AS (
    SELECT kind, vantage, network FROM leases
    JOIN unnest($8::text[], $9::text[], $10::text[], $11::bigint[]) AS asked (kind, vantage, network, token)
      USING (kind, vantage, network, token)
    WHERE leases.member = $1 ${LOCKED}
  )
  UPDATE leases SET expires_at = clock_timestamp() + $7 * interval '1 millisecond' FROM held WHERE ${OF_HELD}
  RETURNING leases.kind, leases.vantage, leases.network, leases.token`

/** A new row of `leases` is made as a claimed one: two members cannot both make it. */
const CLAIM = `
  WITH wanted AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) AS wanted (kind, vantage, network)
  ), free AS (
    SELECT leases.kind, leases.vantage, leases.network FROM leases JOIN wanted USING (kind, vantage, network)
    WHERE leases.member IS NULL OR leases.expires_at <= clock_timestamp()
    ${LOCKED} SKIP LOCKED
  ), taken AS (
    UPDATE leases SET token = leases.token + 1, member = $1,
      previous_member = coalesce(leases.member, leases.previous_member),
      expires_at = clock_timestamp() + $2 * interval '1 millisecond'
    FROM free WHERE leases.kind = free.kind AND leases.vantage = free.vantage AND leases.network = free.network
    RETURNING leases.kind, leases.vantage, leases.network, leases.token
  ), made AS (
    INSERT INTO leases (kind, vantage, network, member, token, expires_at)
    SELECT kind, vantage, network, $1, 1, clock_timestamp() + $2 * interval '1 millisecond' FROM wanted
    ORDER BY kind, vantage, network
    ON CONFLICT DO NOTHING
    RETURNING kind, vantage, network, token
  ), claimed AS (
    SELECT * FROM taken UNION ALL SELECT * FROM made
  ), noted AS (
    INSERT INTO lease_claims (kind, vantage, network, token, member, claimed_at)
    SELECT kind, vantage, network, token, $1, clock_timestamp() FROM claimed
  )
  SELECT kind, vantage, network, token FROM claimed`

const FREED = 'member = NULL, previous_member = leases.member, expires_at = clock_timestamp()'
const TOLD = `SELECT pg_notify('${CHANNEL}', 'leases ' || $1::text) WHERE EXISTS (SELECT 1 FROM freed)`

const RELEASE = `
  WITH held AS (
    SELECT kind, vantage, network FROM leases
    JOIN unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS asked (kind, vantage, network, token)
      USING (kind, vantage, network, token)
    WHERE leases.member = $1 ${LOCKED}
  ), freed AS (
    UPDATE leases SET ${FREED} FROM held WHERE ${OF_HELD} RETURNING 1
  ) ${TOLD}`

const LEAVE = `
  WITH gone AS (DELETE FROM members WHERE id = $1),
  held AS (SELECT kind, vantage, network FROM leases WHERE member = $1 ${LOCKED}),
  freed AS (UPDATE leases SET ${FREED} FROM held WHERE ${OF_HELD} RETURNING 1) ${TOLD}`

/** What members date follows this clock within a second: a row that is later was written before the clock was set back. */
export const LATEST_POSSIBLE = "clock_timestamp() + interval '2 s'"

/** In the order of the key, so that two statements never wait for each other. */
const WRITE_VOTES = `
  WITH written AS (
    INSERT INTO votes AS stored (vantage, network, endpoint, member, token, polled_at, version, value)
    SELECT leases.vantage, vote.network, vote.endpoint, leases.member, vote.token,
      to_timestamp(vote."polledAt" / 1000), heartline_version(), vote.value
    FROM jsonb_to_recordset($3::jsonb)
      AS vote (network text, endpoint text, token bigint, "polledAt" float8, value jsonb)
    JOIN leases ON leases.kind = 'poll' AND leases.vantage = $2 AND leases.network = vote.network
      AND leases.member = $1 AND leases.token = vote.token
    ORDER BY vote.network, vote.endpoint
    ON CONFLICT (vantage, network, endpoint) DO UPDATE SET member = excluded.member, token = excluded.token,
      polled_at = excluded.polled_at, version = excluded.version, value = excluded.value
    WHERE stored.token < excluded.token
      OR (stored.token = excluded.token
        AND (stored.polled_at <= excluded.polled_at OR stored.polled_at > ${LATEST_POSSIBLE}))
    RETURNING 1
  )
  SELECT pg_notify('${CHANNEL}', 'votes ' || $1::text) WHERE $4::boolean AND EXISTS (SELECT 1 FROM written)`

const READ_VOTES = `
  SELECT ${SEEN_NOW} AS next,
    coalesce((SELECT json_agg(json_build_object('vantage', vantage, 'network', network, 'endpoint', endpoint,
        'member', member, 'polledAt', ${msOf('polled_at')}, 'value', value, 'version', version)
        ORDER BY version, vantage, network, endpoint)
      FROM (
        SELECT * FROM votes
        WHERE ${IS_NEW} AND member <> $2 AND pg_column_size(value) <= $3
          AND (version, vantage, network, endpoint) > ($4::bigint, $5::text, $6::text, $7::text)
        ORDER BY version, vantage, network, endpoint LIMIT ${PAGE_VOTES}
      ) AS page), '[]') AS votes`

interface PagedVote extends StoredVote {
  readonly version: number
}

interface VotePage {
  readonly next: Seen
  readonly votes: readonly PagedVote[]
}
