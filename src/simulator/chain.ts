import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'

/**
 * A simulated blockchain that several simulated nodes share. Everything in it follows from its seed, its block time and
 * the time since 2020, so chains of the same seed agree, also in different processes.
 */
export interface SimulatedChain {
  readonly seed: string
  readonly blockTimeMs: number
  /** `[null]` where the chain is not sharded. */
  readonly shards: readonly Shard[]
  readonly halted: boolean
  /** The true time: it follows the monotonic clock, whatever people do to the wall clock. */
  now(): UnixMs
  height(shard: Shard, at?: UnixMs): number
  /** The block at this height, whether minted already or not; on a branch, from its first block on, another one. */
  block(shard: Shard, height: number, branch?: Branch | null): Block
  /** Blocks beyond the block time's, at once, on every shard; also while halted. */
  mine(blocks: number): void
  /**
   * Now, and it goes on from there; or with block `atHeight` (of the first shard) as the last one, and then it makes up for
   * what it missed: chains of several processes agree up to that block, whenever each is told, and again after it.
   */
  halt(atHeight?: number): void
  resume(): void
}

export interface Block {
  readonly shard: Shard
  readonly height: number
  /** 64 hexadecimal digits, no prefix. */
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: UnixMs
}

/** A history that parts from the main one at height `from`. */
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

/** A stretch of time in which blocks come `stepMs` apart; the first after `base` at `at + stepMs`. */
interface Stretch {
  readonly base: number
  readonly at: UnixMs
  readonly stepMs: number
  /** No more blocks than this. */
  readonly count: number
}

const GENESIS_AT: UnixMs = Date.UTC(2020, 0, 1)
/** Shards never have the same height on the real network either. */
const BLOCKS_BETWEEN_SHARDS = 7

export function createChain({ clock, seed, blockTimeMs, shards = [null] }: ChainOptions): SimulatedChain {
  const startedAt = clock.now() - clock.monotonic()
  const stretches: Stretch[] = [{ base: 0, at: GENESIS_AT, stepMs: blockTimeMs, count: Number.POSITIVE_INFINITY }]
  let halted = false
  let last = Number.POSITIVE_INFINITY

  const now = () => startedAt + clock.monotonic()
  const offset = (shard: Shard) => Math.max(0, shards.indexOf(shard)) * BLOCKS_BETWEEN_SHARDS

  function minted(at: UnixMs): number {
    return Math.min(last, due(at))
  }

  function due(at: UnixMs): number {
    const stretch = stretches.findLast((candidate) => candidate.at <= at)
    if (stretch === undefined) return 0
    if (stretch.stepMs === 0) return stretch.base + stretch.count
    return stretch.base + Math.min(stretch.count, Math.floor((at - stretch.at) / stretch.stepMs))
  }

  function mintedAt(count: number): UnixMs {
    const stretch = stretches.findLast(({ base }) => base < count) ?? stretches[0]
    return stretch === undefined ? GENESIS_AT : stretch.at + (count - stretch.base) * stretch.stepMs
  }

  /** From now on blocks come this fast, or not at all. */
  function goOn(stepMs: number, count: number): void {
    stretches.push({ base: due(now()), at: now(), stepMs, count })
  }

  return {
    seed,
    blockTimeMs,
    shards,
    get halted() {
      return halted || due(now()) >= last
    },
    now,
    height: (shard, at = now()) => minted(at) + offset(shard),

    block(shard, height, branch = null) {
      return {
        shard,
        height,
        hash: blockHash(seed, shard, height, branch),
        parentHash: height === 0 ? '0'.repeat(64) : blockHash(seed, shard, height - 1, branch),
        timestamp: mintedAt(height - offset(shard)),
      }
    },

    mine(blocks) {
      const base = due(now())
      last += blocks
      stretches.push({ base, at: now(), stepMs: 0, count: blocks })
      const rest = halted ? 0 : Number.POSITIVE_INFINITY
      stretches.push({ base: base + blocks, at: now(), stepMs: blockTimeMs, count: rest })
    },

    halt(atHeight) {
      if (atHeight !== undefined) last = Math.max(atHeight, minted(now()))
      if (atHeight !== undefined || halted) return
      halted = true
      goOn(blockTimeMs, 0)
    },

    resume() {
      last = Number.POSITIVE_INFINITY
      if (!halted) return
      halted = false
      goOn(blockTimeMs, Number.POSITIVE_INFINITY)
    },
  }
}

function blockHash(seed: string, shard: Shard, height: number, branch: Branch | null): string {
  const history = branch !== null && height >= branch.from ? branch.id : 'main'
  return digest(seed, history, shard ?? 'whole', height)
}

/** 64 hexadecimal digits that follow from the parts. */
export function digest(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('/')).digest('hex')
}
