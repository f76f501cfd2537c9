import { expect, test } from 'vitest'
import type { HeadStanding } from '../../src/core/verdict/health.ts'
import { unpolled } from '../../src/core/verdict/health.ts'
import { followChainMoves } from '../../src/poll/chain-moves.ts'
import { createBoard, newTally } from '../../src/state/board.ts'
import { endpoint, head, network } from '../support/network.ts'

const OWN = endpoint('own')

function house() {
  const board = createBoard()
  const events: unknown[] = []
  const polled = new Set<string>()
  board.configure([{ network: network(), fresh: [{ health: unpolled(OWN, 0), tally: newTally(['head']) }] }])
  const end = followChainMoves({
    board,
    polls: (name) => polled.has(name),
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
  return { says, events, polled, end }
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

test('nothing is reported after its end', () => {
  const { says, events, end } = house()
  says(10)
  end()
  says(9)

  expect(events).toEqual([])
})
