import type { Network, Thresholds } from '../network.ts'

/** Blocks behind the reference head, and behind the highest block that half of the endpoints have. */
export interface Lag {
  readonly lagBlocks: number
  readonly lagConfirmed: number
}

/**
 * Lagging begins `lag_blocks` behind what half of the endpoints have, so that a few endpoints ahead make no other late.
 * It ends `lag_recover_blocks` behind the reference head.
 */
export function isLagging({ lagBlocks, lagConfirmed }: Lag, wasLagging: boolean, thresholds: Thresholds): boolean {
  return wasLagging ? lagBlocks > thresholds.lagRecoverBlocks : lagConfirmed >= thresholds.lagBlocks
}

/** Compares a head with the reference head of the scheduled polls. Without a reference, the lag is 0. */
export function lagBehind(
  height: number,
  reference: { readonly height: number; readonly confirmedHeight: number } | undefined,
): Lag {
  return {
    lagBlocks: Math.max(0, (reference?.height ?? height) - height),
    lagConfirmed: Math.max(0, (reference?.confirmedHeight ?? height) - height),
  }
}

/** Block time for converting lag to time: a configured one is preferred to a measured one, and that to the default. */
export function msPerBlock({ blockTimeMs, blockTimeGiven }: Network, measuredMs: number | null): number {
  return blockTimeGiven ? blockTimeMs : (measuredMs ?? blockTimeMs)
}
