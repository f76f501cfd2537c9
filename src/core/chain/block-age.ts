import type { UnixMs } from '../time.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'

interface BlockAgeOptions {
  readonly lagBlocks: number
  readonly stallMs: number
  readonly recentMs: number
}

/** Nothing shows whether it or the chain has stopped; or half of the others have newer blocks. */
export type ReasonForAge = 'unmatched' | 'behind-half'

/**
 * Why an endpoint is judged by the age of its block: the heights of the others cannot tell whether it is late. `null` if
 * they can. Ask only while the chain is not halted. `lagConfirmed`: by how many blocks its height shows that it is late.
 */
export function reasonForAge(
  options: BlockAgeOptions,
  heads: KnownHeads,
  endpoint: string,
  own: SeenHead,
  lagConfirmed: number,
  now: UnixMs,
): ReasonForAge | null {
  if (!heads.isRecent(endpoint)) return null
  const stands = now - own.advancedAt >= options.stallMs
  if (heads.recent.size === 1) return isAloneForLong(options, heads, own, now) ? 'unmatched' : null
  if (stands && isUnmatched(options, heads, endpoint, own)) return 'unmatched'
  // The block of one that stands was fresh when a chain halted that goes on now.
  if (lagConfirmed >= options.lagBlocks || (stands && wasFresh(own, options.stallMs))) return null
  return isBehindHalf(options, heads, own, now) ? 'behind-half' : null
}

/**
 * It is the only one that answers, and the others have had the time to. Unless it stands: if the blocks of most of them were
 * old when they were first seen, the chain's clock may be wrong.
 */
function isAloneForLong(
  { stallMs, recentMs }: BlockAgeOptions,
  { aloneSince, heads }: KnownHeads,
  own: SeenHead,
  now: UnixMs,
): boolean {
  if (aloneSince === null || now - aloneSince < recentMs) return false
  if (now - own.advancedAt >= stallMs) return true
  let excess = 0
  for (const other of heads()) if (other !== own) excess += wasFresh(other, stallMs) ? 1 : -1
  return excess >= 0
}

/** `stallMs` after its last block all others are still far behind it, while one of them catches up, which would hide a halt. */
function isUnmatched(
  { lagBlocks, stallMs }: BlockAgeOptions,
  heads: KnownHeads,
  endpoint: string,
  own: SeenHead,
): boolean {
  if (heads.recent.reached(own.head.height - lagBlocks + 1) > 1) return false
  let catchesUp = false
  for (const other of heads.recentEndpoints()) {
    if (other === endpoint) continue
    const readAt = heads.readAt(other)
    if (readAt - own.advancedAt < stallMs) return false
    catchesUp ||= readAt - (heads.seen(other)?.advancedAt ?? 0) < stallMs
  }
  return catchesUp
}

/** Of four or more endpoints, half have blocks that are `stallMs` newer: no majority, but more than one wrong endpoint. */
function isBehindHalf({ lagBlocks, stallMs }: BlockAgeOptions, heads: KnownHeads, own: SeenHead, now: UnixMs): boolean {
  const { recent } = heads
  const { height, timestamp } = own.head
  const isHalf = (count: number) => recent.size >= 4 && 2 * count >= recent.size
  // Most polls end here, without visiting every endpoint.
  if (now - timestamp < stallMs || !isHalf(recent.reached(height + lagBlocks))) return false
  let ahead = 0
  for (const endpoint of heads.recentEndpoints()) {
    const other = heads.seen(endpoint)
    if (other === undefined || other.head.height < height + lagBlocks || !wasFresh(other, stallMs)) continue
    if (other.head.timestamp - timestamp >= stallMs && isHalf(++ahead)) return true
  }
  return false
}

/** Its block was not old when it was first seen, so the chain's clock is not slow. */
function wasFresh({ head, advancedAt }: SeenHead, stallMs: number): boolean {
  return advancedAt - head.timestamp < stallMs
}
