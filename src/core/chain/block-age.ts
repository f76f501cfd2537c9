import type { UnixMs } from '../time.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'

interface BlockAgeOptions {
  readonly lagBlocks: number
  readonly stallMs: number
  readonly recentMs: number
}

/**
 * Whether an endpoint is judged by the age of its block, because the heights of the others cannot tell whether it is late.
 * Ask only while the chain is not halted.
 */
export function isJudgedByAge(
  options: BlockAgeOptions,
  heads: KnownHeads,
  endpoint: string,
  own: SeenHead,
  now: UnixMs,
): boolean {
  if (!heads.isRecent(endpoint)) return false
  const stands = now - own.advancedAt >= options.stallMs
  if (heads.recent.size === 1) return stands || isAloneForLong(options, heads, own, now)
  return stands && isUnmatched(options, heads, endpoint, own)
}

/**
 * It is the only one that answers, and the others have had the time to. If their blocks were old when they were first seen,
 * the chain's clock may be wrong.
 */
function isAloneForLong(
  { stallMs, recentMs }: BlockAgeOptions,
  { aloneSince, heads }: KnownHeads,
  own: SeenHead,
  now: UnixMs,
): boolean {
  if (aloneSince === null || now - aloneSince < recentMs) return false
  for (const other of heads()) if (other !== own && !wasFresh(other, stallMs)) return false
  return true
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

/** Its block was not old when it was first seen, so the chain's clock is not slow. */
function wasFresh({ head, advancedAt }: SeenHead, stallMs: number): boolean {
  return advancedAt - head.timestamp < stallMs
}
