import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { putVote } from '../support/votes.ts'
import { textOf } from './chain.ts'
import { type Answering, BLOCK_NUMBER, LATEST_BLOCK, type Setting, setting, startBareNode } from './nodes.ts'

const hex = (height: number) => `0x${height.toString(16)}`
const at =
  (height: number): Answering =>
  ({ method }) =>
    method === 'eth_blockNumber' ? hex(height) : { number: hex(height) }

const within = (ms: number) => ({ deadlineAt: systemClock.monotonic() + ms })
type Question = Parameters<Setting['ask']>[0]
const FALLBACK_B = { endpoints: { b: { tier: 'fallback' } } } as const

/** `x` has seen block 1002 from `a`, `y` has seen 1005 there; `a` is gone, and `b` is at 1001. */
async function twoCallers() {
  const a = await startBareNode(at(1002))
  const b = await startBareNode(at(1001))
  const rest = await setting({ a, b }, FALLBACK_B)
  const x = (question: Question) => rest.ask({ ...question, caller: 'x' })
  const y = (question: Question) => rest.ask({ ...question, caller: 'y' })
  await x(BLOCK_NUMBER)
  a.answering = at(1003)
  await y(LATEST_BLOCK)
  a.answering = at(1005)
  await y(BLOCK_NUMBER)
  await a.stop()
  return { ...rest, b, x, y }
}

describe('a caller that is given the answer which another one got last', () => {
  test('has seen its height: later answers are not below it', async () => {
    const { x, b } = await twoCallers()
    const repeated = await x(BLOCK_NUMBER)
    b.answering = at(1003)

    const next = await x(BLOCK_NUMBER)

    expect([repeated, next].map(textOf)).toEqual([hex(1005), hex(1005)].map((height) => `"${height}"`))
    expect([repeated, next].map(({ staleMs }) => typeof staleMs)).toEqual(['number', 'number'])
  })

  test('is given no older block, although that is the last one of its form', async () => {
    const { x } = await twoCallers()
    await x(BLOCK_NUMBER)

    const reply = await x({ ...LATEST_BLOCK, ...within(300) })

    expect(reply.kind).toBe('rejected')
  })

  test('is not given it once another member of the cluster finds its endpoint on another chain', async () => {
    const { x, world } = await twoCallers()
    const before = await x(BLOCK_NUMBER)

    putVote(world.board, 'a', 'forked')
    const after = await x({ ...BLOCK_NUMBER, ...within(300) })

    expect([before.kind, after.kind]).toEqual(['result', 'rejected'])
  })

  test('and asks again and again, believes a chain that went back after two rounds of polls', async () => {
    const { x, poll, skip, b } = await twoCallers()
    await x(BLOCK_NUMBER)
    b.answering = at(990)
    const shown: string[] = []
    for (let round = 0; round < 3; round++) {
      for (const name of ['a', 'b']) {
        skip(1000)
        await poll(name, 990)
        shown.push(textOf(await x(BLOCK_NUMBER)))
      }
    }

    expect(shown[0]).toBe(`"${hex(1005)}"`)
    expect(shown.at(-1)).toBe(`"${hex(990)}"`)
  })
})
