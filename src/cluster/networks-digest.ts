import { createHash } from 'node:crypto'
import type { ClusterNetwork } from './votes.ts'

/** Tells whether two members monitor the same: names, families and checks. URLs may differ from place to place. */
export function networksDigest(networks: readonly ClusterNetwork[]): string {
  const told = networks
    .map(({ network, endpoints }) => [
      network.name,
      network.family,
      endpoints.map(({ name, checks }) => [name, checks.toSorted()]).sort(byName),
    ])
    .sort(byName)
  return createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 32)
}

function byName(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1
}
