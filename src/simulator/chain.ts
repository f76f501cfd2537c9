import { hash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'

export type SimulatedChain = ReturnType<typeof createChain>

export interface Block {
  readonly shard: Shard
  readonly height: number
  /** 64 hexadecimal digits, no prefix. */
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: UnixMs
}

/** A history that departs from the main chain at height `from`. */
export interface Branch {
  readonly id: string
  readonly from: number
}

export interface ChainOptions {
  readonly clock: Clock
  readonly seed: string
  readonly blockTimeMs: number
  readonly shards?: readonly Shard[]
}

/** A period with one block every `stepMs`; the first block after `base` is at `at + stepMs`. */
interface Period {
  readonly base: number
  readonly at: UnixMs
  readonly stepMs: number
  /** Maximum number of blocks in this period. */
  readonly count: number
}

const GENESIS_AT: UnixMs = Date.UTC(2020, 0, 1)
/** As on the real network, shards have different heights. */
const BLOCKS_BETWEEN_SHARDS = 7

/**
 * A simulated blockchain shared by several nodes. It depends only on its seed, its block time and the time since 2020,
 * so chains with the same seed are equal across processes.
 */
export function createChain({ clock, seed, blockTimeMs, shards = [null] }: ChainOptions) {
  const startedAt = clock.now() - clock.monotonic()
  const periods: Period[] = [{ base: 0, at: GENESIS_AT, stepMs: blockTimeMs, count: Number.POSITIVE_INFINITY }]
  let halted = false
  let last = Number.POSITIVE_INFINITY

  const now = () => startedAt + clock.monotonic()
  const offset = (shard: Shard) => Math.max(0, shards.indexOf(shard)) * BLOCKS_BETWEEN_SHARDS

  function minted(at: UnixMs): number {
    return Math.min(last, due(at))
  }

  function due(at: UnixMs): number {
    const period = periods.findLast((candidate) => candidate.at <= at)
    if (period === undefined) return 0
    if (period.stepMs === 0) return period.base + period.count
    return period.base + Math.min(period.count, Math.floor((at - period.at) / period.stepMs))
  }

  function mintedAt(count: number): UnixMs {
    const period = periods.findLast(({ base }) => base < count) ?? periods[0]
    return period === undefined ? GENESIS_AT : period.at + (count - period.base) * period.stepMs
  }

  /** Changes the block rate from now on; an infinite `stepMs` stops the chain. */
  function continueWith(stepMs: number, count: number): void {
    periods.push({ base: due(now()), at: now(), stepMs, count })
  }

  return {
    seed,
    blockTimeMs,
    /** `[null]` if the chain is not sharded. */
    shards,
    get halted(): boolean {
      return halted || due(now()) >= last
    },
    /** The true time; it follows the monotonic clock, not the wall clock. */
    now,
    height: (shard: Shard, at: UnixMs = now()): number => minted(at) + offset(shard),

    /** Returns the block at this height, minted or not; from the start of `branch` on, the block of that branch. */
    block(shard: Shard, height: number, branch: Branch | null = null): Block {
      return {
        shard,
        height,
        hash: blockHash(seed, shard, height, branch),
        parentHash: height === 0 ? '0'.repeat(64) : blockHash(seed, shard, height - 1, branch),
        timestamp: mintedAt(height - offset(shard)),
      }
    },

    /** Mints extra blocks at once on every shard, even while halted. */
    mine(blocks: number): void {
      const base = due(now())
      last += blocks
      periods.push({ base, at: now(), stepMs: 0, count: blocks })
      const rest = halted ? 0 : Number.POSITIVE_INFINITY
      periods.push({ base: base + blocks, at: now(), stepMs: blockTimeMs, count: rest })
    },

    /**
     * Halts now and later continues from there; or halts after block `atHeight` (of the first shard) and later catches
     * up. With `atHeight`, chains of several processes stay equal even if they get the command at different times.
     */
    halt(atHeight?: number): void {
      if (atHeight !== undefined) last = Math.max(atHeight, minted(now()))
      if (atHeight !== undefined || halted) return
      halted = true
      continueWith(blockTimeMs, 0)
    },

    resume(): void {
      last = Number.POSITIVE_INFINITY
      if (!halted) return
      halted = false
      continueWith(blockTimeMs, Number.POSITIVE_INFINITY)
    },
  }
}

function blockHash(seed: string, shard: Shard, height: number, branch: Branch | null): string {
  const history = branch !== null && height >= branch.from ? branch.id : 'main'
  return digest(seed, history, shard ?? 'whole', height)
}

/** Hashes the parts to 64 hexadecimal digits. */
export function digest(...parts: readonly (string | number)[]): string {
  return hash('sha256', parts.join('/'))
}
