import { networkOf } from '../../core/endpoint.ts'
import type { HeldLease, LeaseKind } from '../cluster-tables.ts'
import type { Fence, Registration } from '../write-events.ts'
import { bigints } from './arrays.ts'
import type { Query } from './sessions.ts'

/** When each of these rights was lost to another daemon's later claim: by `keyOf`; missing while it was not. */
export type Losses = ReadonlyMap<string, number>

const keyOf = ({ kind, network, token }: Omit<HeldLease, 'vantage'>): string => `${kind} ${token} ${network}`

/** Reads the claims in the transaction of the writes that depend on them. */
export async function readLosses(query: Query, member: string, rights: Iterable<HeldLease>): Promise<Losses> {
  const distinct = [...new Map([...rights].map((right) => [keyOf(right), right])).values()]
  if (distinct.length === 0) return new Map()
  const rows = await query<{ kind: LeaseKind; network: string; token: number; lost: number }>(
    `SELECT own.kind, own.network, own.token,
       floor(extract(epoch FROM min(claim.claimed_at)) * 1000)::float8 AS lost
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS own (kind, vantage, network, token)
     JOIN lease_claims AS claim
       ON claim.kind = own.kind AND claim.vantage = own.vantage AND claim.network = own.network AND claim.token > own.token
       AND claim.member <> $5
     GROUP BY own.kind, own.network, own.token`,
    [
      distinct.map(({ kind }) => kind),
      distinct.map(({ vantage }) => vantage),
      distinct.map(({ network }) => network),
      bigints(distinct.map(({ token }) => token)),
      member,
    ],
  )
  return new Map(rows.map((row) => [keyOf(row), row.lost]))
}

export const rightToKeep = ({ network, token }: Fence): HeldLease => ({ kind: 'keep', vantage: '', network, token })

/** As `readLosses`; until the transaction ends, no other daemon claims these networks and reads what is written now. */
export async function holdKept(query: Query, member: string, fences: readonly Fence[]): Promise<Losses> {
  if (fences.length === 0) return new Map()
  await query(
    `SELECT 1 FROM leases WHERE kind = 'keep' AND vantage = '' AND network = ANY($1::text[])
     ORDER BY network FOR SHARE`,
    [[...new Set(fences.map(({ network }) => network))]],
  )
  return readLosses(query, member, fences.map(rightToKeep))
}

/** Whether the write may still be made. One that waited for the database counts as made when it was queued. */
export function allows(losses: Losses, { network, token, at, isAway }: Fence): boolean {
  const lostAt = losses.get(keyOf({ kind: 'keep', network, token }))
  return lostAt === undefined || (isAway && at < lostAt)
}

export type Owned = Pick<Registration, 'endpoint' | 'token'>

/** From when on nothing is accepted that this daemon finds out about the endpoint. */
export function lostAt(losses: Losses, { endpoint, token }: Owned): number {
  const known =
    token === undefined ? undefined : losses.get(keyOf({ kind: 'poll', network: networkOf(endpoint), token }))
  return known ?? Number.POSITIVE_INFINITY
}
