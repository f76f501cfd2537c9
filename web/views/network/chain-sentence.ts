import type { BlocksView } from '../../../src/http/wire/blocks.ts'
import type { NetworkView } from '../../../src/http/wire/status.ts'
import { shardName } from '../endpoint-row.ts'
import { duration, since, unbroken } from '../format.ts'
import { sinceLastBlock } from './block-arrival-figures.ts'
import { NETWORK, paceText } from './words-network.ts'

/** Whether the chain is unhealthy or a node, which a height alone does not show. */
export function chainSentence(network: NetworkView, blocks: BlocksView, nowMs: number): string {
  const { endpoints, halted, forked } = network
  if (blocks.shards.every((shard) => shard.blocks.length === 0)) return NETWORK.noBlocks
  if (halted) return haltedSentence(blocks, nowMs)
  if (forked) return NETWORK.split
  if (endpoints.every(({ heads }) => heads.every(({ lag_blocks: lag }) => lag === null))) return NETWORK.noHeads
  const stuck = suffering(network, 'stalled')
  const [one] = stuck
  if (one !== undefined) {
    const stood = duration(Math.floor(since(advancedAt(blocks, one.name), nowMs)))
    return stuck.length === 1 ? unbroken(NETWORK.stalled(one.title, stood)) : NETWORK.manyStalled(stuck.length)
  }
  const astray = suffering(network, 'forked')
  const [stray] = astray
  if (stray !== undefined)
    return astray.length === 1 ? NETWORK.onMinority(stray.title) : NETWORK.manyOnMinority(astray.length)
  return NETWORK.advancing(paceOf(blocks))
}

function suffering({ endpoints }: NetworkView, from: 'stalled' | 'forked') {
  return endpoints.filter(({ conditions }) => conditions.some(({ code }) => code === from))
}

function haltedSentence({ shards, thresholds }: BlocksView, nowMs: number): string {
  const standing = shards.flatMap((shard) => {
    const seconds = sinceLastBlock(shard, nowMs) ?? 0
    return seconds >= thresholds.stall_seconds ? [{ shard: shard.shard, seconds }] : []
  })
  const longest = duration(Math.floor(Math.max(0, ...standing.map(({ seconds }) => seconds))))
  const names = standing.flatMap(({ shard }) => (shard === null ? [] : [shardName(shard)]))
  const isPart = standing.length < shards.length && names.length > 0
  return unbroken(isPart ? NETWORK.haltedOn(names.join(', '), longest) : NETWORK.halted(longest))
}

/** The earliest advance over all shards. */
function advancedAt({ shards, generated_at: now }: BlocksView, name: string): string {
  const times = shards.flatMap(({ endpoints }) => endpoints.find((one) => one.name === name)?.advanced_at ?? [])
  return times.reduce((earliest, time) => (time < earliest ? time : earliest), now)
}

/** The pace of the slowest shard. */
function paceOf({ shards }: BlocksView): string | null {
  const paces = shards.flatMap(({ block_time: { measured_seconds: measured } }) => measured ?? [])
  return paces.length === 0 ? null : NETWORK.every(paceText(Math.max(...paces)))
}
