import type { Shard } from '../core/network.ts'
import { type Block, type Branch, digest, type SimulatedChain } from './chain.ts'
import type { HeadFault } from './fault.ts'
import type { FaultSet } from './fault-set.ts'

export type NodeView = ReturnType<typeof createView>

interface ViewDeps {
  readonly chain: SimulatedChain
  readonly faults: FaultSet
  /** Seeds the faults, so that nodes fail differently. */
  readonly nodeName: string
  /** Propagation delay of a block to this node. */
  readonly delayMs: number
  /** Differs for each answer, to seed a pool's jitter. */
  readonly turn: number
}

/** Older blocks are not found by hash, because clients request only blocks near the head. */
const FINDABLE_BLOCKS = 512

/** A node's view of the chain, with its faults. Each request has its own view, so that its answer is consistent. */
export function createView({ chain, faults, nodeName, delayMs, turn }: ViewDeps) {
  const reaches = new Map<Shard, number>()

  function onShard<K extends HeadFault['kind']>(kind: K, shard: Shard) {
    const active = faults.get(kind)
    const only = (active?.fault as HeadFault | undefined)?.shard
    return only === undefined || only === shard ? active : undefined
  }

  function honestTip(shard: Shard): number {
    return chain.height(shard, chain.now() - delayMs)
  }

  /** The highest block that can be returned: in a pool, other nodes may be ahead of the one that answers. */
  function reachNow(shard: Shard): number {
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
    return Math.max(0, height)
  }

  function reach(shard: Shard): number {
    const known = reaches.get(shard) ?? reachNow(shard)
    reaches.set(shard, known)
    return known
  }

  function tip(shard: Shard): number {
    const jitter = onShard('jitter', shard)
    const back = jitter ? Number.parseInt(digest(nodeName, turn).slice(0, 8), 16) % (jitter.fault.blocks + 1) : 0
    return Math.max(0, reach(shard) - back)
  }

  function branch(shard: Shard): Branch | null {
    const fork = onShard('fork', shard)
    const forkTip = fork?.tips.get(shard)
    if (fork && forkTip !== undefined) {
      const { depth, at = forkTip - depth + 1, branch: number } = fork.fault
      const from = Math.max(1, at)
      const whose = number === undefined ? `of ${nodeName} at ${fork.since}` : String(number)
      // The start height is part of the id, because blocks contain the hash of their parent.
      return { id: `fork ${whose} from ${from}`, from }
    }
    const other = faults.get('wrong-chain')
    if (other) return { id: `chain ${other.fault.chainId}`, from: 1 }
    const lie = onShard('lie', shard)
    return lie ? { id: `lie of ${nodeName} at ${lie.since}`, from: honestTip(shard) + 1 } : null
  }

  /** `null` beyond the node's tip; in a pool, beyond the tip of the most advanced node. */
  function block(shard: Shard, height: number): Block | null {
    if (height < 0 || height > reach(shard)) return null
    const minted = chain.block(shard, height, branch(shard))
    // A block that does not exist yet has no timestamp: use the current time.
    return { ...minted, timestamp: Math.min(minted.timestamp, chain.now()) }
  }

  return {
    tip,
    block,
    /** Searches the latest blocks by hash without prefix; `null` if not found. */
    find(shard: Shard, hash: string): Block | null {
      for (let height = reach(shard); height >= Math.max(0, reach(shard) - FINDABLE_BLOCKS); height--) {
        const candidate = block(shard, height)
        if (candidate?.hash === hash) return candidate
      }
      return null
    },
  }
}
