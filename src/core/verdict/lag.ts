import type { Network, Thresholds } from '../network.ts'

/** How far an endpoint is behind, in blocks: behind the reference head, and behind what half of the endpoints have. */
export interface Lag {
  readonly lagBlocks: number
  readonly lagConfirmed: number
}

/**
 * The rule of `lagging`: it begins `lag_blocks` behind what half of the endpoints have, so that a few endpoints ahead make no other
 * late. It ends `lag_recover_blocks` behind the reference head.
 */
export function isLagging({ lagBlocks, lagConfirmed }: Lag, wasLagging: boolean, thresholds: Thresholds): boolean {
  return wasLagging ? lagBlocks > thresholds.lagRecoverBlocks : lagConfirmed >= thresholds.lagBlocks
}

/** The lag of a head that is compared with a reference head of the schedule's polls. */
export function lagBehind(
  height: number,
  reference: { readonly height: number; readonly confirmedHeight: number } | undefined,
): Lag {
  return {
    lagBlocks: Math.max(0, (reference?.height ?? height) - height),
    lagConfirmed: Math.max(0, (reference?.confirmedHeight ?? height) - height),
  }
}

/** The time that a block of lag stands for. A configured block time is better than a measured one, which is better than a default. */
export function msPerBlock({ blockTimeMs, blockTimeGiven }: Network, measuredMs: number | null): number {
  return blockTimeGiven ? blockTimeMs : (measuredMs ?? blockTimeMs)
}
