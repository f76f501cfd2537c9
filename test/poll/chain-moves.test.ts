import { expect, test } from 'vitest'
import { endpointKey } from '../../src/core/endpoint.ts'
import { type HeadStanding, unpolled } from '../../src/core/verdict/health.ts'
import { followChainMoves } from '../../src/poll/chain-moves.ts'
import { createBoard, newTally } from '../../src/state/board.ts'
import { createSightings } from '../../src/state/sightings.ts'
import { endpoint, head, network } from '../support/network.ts'

const OWN = endpoint('own')

function house() {
  const board = createBoard()
  const events: unknown[] = []
  const polled = new Set<string>()
  const sightings = createSightings()
  sightings.retain([{ key: endpointKey(OWN), shards: OWN.shards }])
  board.configure([{ network: network(), fresh: [{ health: unpolled(OWN, 0), tally: newTally(['head']) }] }])
  const end = followChainMoves({
    board,
    polls: (name) => polled.has(name),
    onVote: sightings.takeVote,
    onEvent: (name, event) => events.push([name, event]),
  })
  function says(height: number, over: { hash?: string; parentHash?: string } = {}): void {
    const standing: HeadStanding = {
      ...head(height, 0, over),
      shard: null,
      lagBlocks: null,
      lagMs: null,
      advancedAt: 0,
      readAt: 0,
    }
    board.put({ ...unpolled(OWN, 0), heads: [standing] }, false)
  }
  return { board, says, events, polled, sightings, end }
}

test('another block at a known height is reported, also if only its child is seen', () => {
  const { says, events } = house()
  says(10)
  says(11)
  says(11, { hash: '0xother' })
  says(12, { parentHash: '0xthird' })

  expect(events).toEqual([
    ['ethereum', { kind: 'reorged', shard: null, height: 11, hash: '0xother', previousHash: '0x11' }],
    ['ethereum', { kind: 'reorged', shard: null, height: 11, hash: '0xthird', previousHash: '0xother' }],
  ])
})

test('a lower height is reported, a gap is not', () => {
  const { says, events } = house()
  says(10)
  says(20)
  says(18)

  expect(events).toEqual([['ethereum', { kind: 'regressed', shard: null, blocks: 2 }]])
})

test('what this daemon polls itself is left to its poller', () => {
  const { says, events, polled } = house()
  says(10)
  polled.add('ethereum')
  says(10, { hash: '0xother' })
  polled.clear()
  says(10)

  expect(events).toEqual([])
})

test('what another member has polled is seen to arrive between its polls, once, and not again while the node does not answer', () => {
  const { board, polled, sightings } = house()
  const says = (height: number, polledAt: number, readAt = polledAt) => {
    const standing = { ...head(height, 0), shard: null, lagBlocks: 0, lagMs: 0, advancedAt: 0, readAt }
    board.put({ ...unpolled(OWN, 0), heads: [standing], lastPolledAt: polledAt, latencyMs: 20 }, false)
  }
  says(10, 1000)
  says(10, 2000)
  says(11, 3000)
  says(11, 4000, 3000)
  polled.add('ethereum')
  says(12, 5000)

  expect(sightings.of(endpointKey(OWN), null)?.heads).toEqual([
    { head: head(10, 0), at: 1020, after: null, before: null },
    { head: head(11, 0), at: 3020, after: 2000, before: 10 },
  ])
})

test('nothing is reported after its end', () => {
  const { says, events, end } = house()
  says(10)
  end()
  says(9)

  expect(events).toEqual([])
})
