import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairShare } from '../../src/core/fair-share.ts'
import { ResponseBody } from '../../src/nodes/exchange.ts'
import { type IncomingBody, IncomingMemory } from '../../src/nodes/incoming-memory.ts'

const MEBIBYTE = 2 ** 20

/** Node.js 22 reads 64 KiB from a socket while it has buffered less than 64 KiB. */
const MOST_READ_BYTES = 131_071

const CALLERS = ['a', 'b', null] as const

function bodyOf(caller: string | null): IncomingBody {
  return { caller, heldBytes: 0, wanted: null }
}

describe('memory for bodies that come in', () => {
  test('stays within its limit but for the oldest, lets none wait that fits, and is free in the end', async () => {
    const step = fc.record({
      does: fc.constantFrom('open', 'ask', 'ask', 'end'),
      caller: fc.constantFrom(...CALLERS),
      bytes: fc.integer({ min: 1, max: 40 }),
      nth: fc.nat(9),
    })
    const property = fc.asyncProperty(fc.integer({ min: 8, max: 128 }), fc.array(step), async (max, steps) => {
      const memory = new IncomingMemory(max)
      const open: IncomingBody[] = []
      const waiting = new Set<IncomingBody>()
      const ask = (body: IncomingBody, bytes: number) =>
        memory.ask(body, bytes)?.then(() => waiting.delete(body)) && waiting.add(body)
      const end = (body: IncomingBody) => {
        open.splice(open.indexOf(body), 1)
        waiting.delete(body)
        memory.release(body)
      }
      const check = async () => {
        await Promise.resolve()
        const share = new FairShare(max)
        for (const { caller, heldBytes } of open) share.take(caller, heldBytes)
        expect(share.total - (open[0]?.heldBytes ?? 0)).toBeLessThanOrEqual(max)
        expect(new Set(open.filter(({ wanted }) => wanted !== null))).toEqual(waiting)
        for (const { caller, wanted } of waiting) expect(share.mayTake(caller, wanted?.bytes)).toBe(false)
        expect(waiting.has(open[0]!)).toBe(false)
      }

      for (const { does, caller, bytes, nth } of steps) {
        const body = open[nth % Math.max(1, open.length)]
        if (does === 'open' || body === undefined) ask(open[open.push(bodyOf(caller)) - 1]!, bytes)
        else if (does === 'end') end(body)
        else if (!waiting.has(body)) ask(body, bytes)
        await check()
      }
      // The oldest one never waits, so each of them ends.
      for (; open.length > 0; await check()) end(open[0]!)

      memory.take(bodyOf('oldest'), 0)
      for (const caller of CALLERS) {
        const body = bodyOf(caller)
        expect(memory.ask(body, caller === null ? max : Math.floor(max / 2))).toBeNull()
        memory.release(body)
      }
    })
    await fc.assert(property)
  })

  test('is not taken unasked by a body that is longer than a read, in whatever pieces it comes', () => {
    const read = fc.record({
      bytes: fc.integer({ min: 1, max: MOST_READ_BYTES }),
      piece: fc.constantFrom(1024, 2 ** 20),
    })
    fc.assert(
      fc.property(fc.array(read, { minLength: 60, maxLength: 60 }), (reads) => {
        const memory = new IncomingMemory(4 * MEBIBYTE)
        const oldest = bodyOf(null)
        memory.take(oldest, 3 * MEBIBYTE)
        const body = new ResponseBody(32 * MEBIBYTE, memory, null)
        for (const { bytes, piece } of reads) {
          for (let left = bytes; left > 0; left -= piece) {
            body.append(Buffer.alloc(Math.min(left, piece)))
            if (body.wanted === null) void body.waitForMemory()
          }
          if (body.wanted !== null) break
        }
        expect(body.heldBytes).toBeLessThanOrEqual(MEBIBYTE)
        memory.release(oldest)
        const granted = body.heldBytes
        body.append(Buffer.alloc(MOST_READ_BYTES))
        expect(body.heldBytes).toBe(granted)
      }),
    )
  })
})
