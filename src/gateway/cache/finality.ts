import type { Shard } from '../../core/network.ts'
import type { NetworkStanding } from '../../state/board.ts'

/**
 * The highest height of a chain that nothing takes back any more; -1 where that cannot be said. So many blocks must stand on one as
 * `depth` says (`final_depth` in the configuration): the monitor polls `latest` alone, and so nobody tells what an Ethereum node calls
 * finalized. `told` is the highest that a node has called final itself, `null` where none did.
 */
export function finalHeight(
  { heads, forked }: Pick<NetworkStanding, 'heads' | 'forked'>,
  shard: Shard,
  depth: number,
  told: number | null = null,
): number {
  // Endpoints of two minds: which block is the chain's is anybody's guess.
  if (forked) return -1
  if (depth === 0) return Number.MAX_SAFE_INTEGER
  const head = heads.find((candidate) => candidate.shard === shard)
  if (head === undefined) return -1
  // One that calls final what nobody has yet is not believed, and the newest of what is final is let lie for a block.
  const byNode = told !== null && told <= head.height ? told - 1 : -1
  return Math.max(-1, head.height - depth, byNode)
}

const FINAL_NONCE = Buffer.from('"erd_highest_final_nonce":')

/** What a node of MultiversX calls final in its answer about the network's status. */
export function finalNonceIn(body: Buffer): number | null {
  const found = body.indexOf(FINAL_NONCE)
  if (found === -1) return null
  const start = found + FINAL_NONCE.length
  const digits = /^\s{0,4}(\d{1,16})[\s,}]/.exec(body.toString('latin1', start, start + 24))?.[1]
  const nonce = Number(digits)
  return digits !== undefined && Number.isSafeInteger(nonce) ? nonce : null
}
