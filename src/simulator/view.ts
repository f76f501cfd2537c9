import type { Shard } from '../core/network.ts'
import { type Block, type Branch, digest, type SimulatedChain } from './chain.ts'
import type { HeadFault } from './fault.ts'
import type { FaultSet } from './fault-set.ts'

/** What one node knows of the chain, its faults included; one view serves one request, so it does not contradict itself. */
export interface NodeView {
  tip(shard: Shard): number
  /** `null` beyond the tip. */
  block(shard: Shard, height: number): Block | null
  /** `null` if the node has none with this hash (without prefix) among its latest. */
  find(shard: Shard, hash: string): Block | null
}

interface ViewDeps {
  readonly chain: SimulatedChain
  readonly faults: FaultSet
  /** Tells nodes apart where they err. */
  readonly nodeName: string
  /** How long a block takes to reach this node. */
  readonly delayMs: number
  /** Changes from answer to answer: a pool's jitter follows from it. */
  readonly turn: number
}

/** Older blocks are not found by hash: clients ask for those near the head. */
const FINDABLE_BLOCKS = 512

export function createView({ chain, faults, nodeName, delayMs, turn }: ViewDeps): NodeView {
  const tips = new Map<Shard, number>()

  function onShard<K extends HeadFault['kind']>(kind: K, shard: Shard) {
    const active = faults.get(kind)
    const only = (active?.fault as HeadFault | undefined)?.shard
    return only === undefined || only === shard ? active : undefined
  }

  function honestTip(shard: Shard): number {
    return chain.height(shard, chain.now() - delayMs)
  }

  function tipNow(shard: Shard): number {
    let height = honestTip(shard)
    const regress = onShard('regress', shard)
    if (regress) {
      const caughtUp = Math.floor((chain.now() - regress.since) / chain.blockTimeMs)
      height -= Math.max(0, regress.fault.blocks - caughtUp)
    }
    const lag = onShard('lag', shard)
    if (lag) {
      const behind = height - lag.fault.blocks
      height = lag.fault.gradual ? Math.max(behind, Math.min(height, lag.tips.get(shard) ?? behind)) : behind
    }
    const stall = onShard('stall', shard)
    if (stall) height = Math.min(height, stall.tips.get(shard) ?? height)
    const lie = onShard('lie', shard)
    if (lie) height += lie.fault.blocks
    const jitter = onShard('jitter', shard)
    if (jitter) height -= Number.parseInt(digest(nodeName, turn).slice(0, 8), 16) % (jitter.fault.blocks + 1)
    return Math.max(0, height)
  }

  function tip(shard: Shard): number {
    const known = tips.get(shard) ?? tipNow(shard)
    tips.set(shard, known)
    return known
  }

  function branch(shard: Shard): Branch | null {
    const fork = onShard('fork', shard)
    const forkTip = fork?.tips.get(shard)
    if (fork && forkTip !== undefined) {
      return { id: `fork of ${nodeName} at ${fork.since}`, from: Math.max(1, forkTip - fork.fault.depth + 1) }
    }
    const lie = onShard('lie', shard)
    return lie ? { id: `lie of ${nodeName} at ${lie.since}`, from: honestTip(shard) + 1 } : null
  }

  function block(shard: Shard, height: number): Block | null {
    if (height < 0 || height > tip(shard)) return null
    const minted = chain.block(shard, height, branch(shard))
    // A block that does not exist yet has no date to borrow: the liar says "just now".
    return { ...minted, timestamp: Math.min(minted.timestamp, chain.now()) }
  }

  return {
    tip,
    block,
    find(shard, hash) {
      for (let height = tip(shard); height >= Math.max(0, tip(shard) - FINDABLE_BLOCKS); height--) {
        const candidate = block(shard, height)
        if (candidate?.hash === hash) return candidate
      }
      return null
    },
  }
}
