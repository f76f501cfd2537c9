import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChainMemory, newChainMemory, type Reading } from '../../src/chains/chain.ts'
import { ethereum } from '../../src/chains/ethereum.ts'
import { createRecentBlocks } from '../../src/chains/recent-blocks.ts'
import type { Head } from '../../src/core/poll-result.ts'
import { NOW, recorded, TARGET } from './support.ts'

const BLOCK: unknown = JSON.parse(recorded('ethereum/block-mainnet')).result
const TEXT = JSON.stringify(BLOCK)

const idFirst = (id: number, result = TEXT, end = '}') => `{"jsonrpc":"2.0","id":${id},"result":${result}${end}`
const idLast = (id: number, result = TEXT, end = '}') => `{"jsonrpc":"2.0","result":${result},"id":${id}${end}`

/** One poll, whose request has the id after the memory's last. */
function read(memory: ChainMemory, body: string, status = 200): Reading<Head> {
  const conversation = ethereum.head(TARGET, null, memory)
  conversation.next()
  const step = conversation.next({ status, body: Buffer.from(body), receivedAt: NOW, date: null, retryAfterMs: null })
  if (!step.done) throw new Error('asked for more')
  return step.value
}

/** An endpoint whose last request had that id, in a network whose other nodes have answered with these bodies. */
function memoryAfter(lastId: number, bodies: readonly string[] = []): ChainMemory {
  const recentBlocks = createRecentBlocks()
  for (const body of bodies) read({ ...newChainMemory(recentBlocks), lastId: 6 }, body)
  return { ...newChainMemory(recentBlocks), lastId }
}

describe('the same block from another node', () => {
  test.each([
    ['id first', idFirst(8)],
    ['id last', idLast(8)],
    ['a line feed at the end', idFirst(8, TEXT, '}\n')],
  ])('is the same head, not read again (%s)', (_name, body) => {
    const memory = memoryAfter(7, [idFirst(7)])

    const first = memory.recentBlocks.find(Buffer.from(TEXT))
    const again = read(memory, body)

    expect(first).toBeDefined()
    expect(again.ok && again.value).toBe(first)
  })

  test.each([
    ['another id', idFirst(9)],
    ['another id, last', idLast(9)],
    ['a second id, after the result', idFirst(8, TEXT, ',"id":7}')],
    ['an error after the result', idFirst(8, TEXT, ',"error":{"code":1,"message":""}}')],
    ['a second result', idFirst(8, TEXT, ',"result":null}')],
    ['an end that is missing', idFirst(8, TEXT, '')],
    ['more after its end', idFirst(8, TEXT, '}}')],
    ['blanks that JSON does not know', idFirst(8, TEXT, '}\u00a0')],
  ])('is not believed with %s', (_name, body) => {
    const before = [idFirst(7), idFirst(7, TEXT, ',"id":7}'), idLast(7)]

    expect(read(memoryAfter(7, before), body)).toEqual(read(memoryAfter(7), body))
    expect(read(memoryAfter(7, before), body).ok).toBe(false)
  })

  test('is not believed with a status that refuses', () => {
    expect(read(memoryAfter(7, [idFirst(7)]), idFirst(8), 503)).toEqual({
      ok: false,
      failure: { kind: 'http', status: 503 },
    })
  })

  test('is forgotten after a few others', () => {
    const others = Array.from({ length: 10 }, (_, at) =>
      idFirst(7, JSON.stringify({ ...(BLOCK as object), number: `0x${(at + 1).toString(16)}` })),
    )

    expect(memoryAfter(7, [idFirst(7), ...others.slice(0, 3)]).recentBlocks.find(Buffer.from(TEXT))).toBeDefined()
    expect(memoryAfter(7, [idFirst(7), ...others]).recentBlocks.find(Buffer.from(TEXT))).toBeUndefined()
  })

  test('is not kept where it is huge', () => {
    const huge = JSON.stringify({ ...(BLOCK as object), extra: 'x'.repeat(200_000) })
    const memory = memoryAfter(7, [idFirst(7, huge)])

    expect(memory.recentBlocks.find(Buffer.from(huge))).toBeUndefined()
    expect(read(memory, idFirst(8, huge)).ok).toBe(true)
  })
})

test('whatever other nodes have answered before, an answer is read as if it were the first', () => {
  const result = fc.constantFrom(TEXT, TEXT.replace('0x15f3a2b', '0x15f3a2c'), `${TEXT} `, 'null', '{}', '"0x1"', '1,2')
  const end = fc.constantFrom('}', '}\n', ' }', '', '}}', ',"id":7}', ',"id":8}', ',"result":null}', ',"error":1}')
  const whole = fc
    .tuple(fc.constantFrom(idFirst, idLast), fc.constantFrom(7, 8), result, end)
    .map(([write, id, text, tail]) => write(id, text, tail))
  const cut = fc
    .tuple(whole, fc.nat({ max: 3000 }), fc.constantFrom('', '"', '}', '0', ','))
    .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1))
  const body = fc.oneof(whole, cut)
  fc.assert(
    fc.property(fc.array(body, { maxLength: 6 }), body, fc.constantFrom(6, 7), (before, now, lastId) => {
      expect(read(memoryAfter(lastId, before), now)).toEqual(read(memoryAfter(lastId), now))
    }),
    { numRuns: 2000 },
  )
})
