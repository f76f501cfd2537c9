import fc from 'fast-check'
import { expect, test } from 'vitest'
import { giveBack, shareShortLived, shortLived } from '../../src/nodes/buffer-pool.ts'

const KIB = 1024

/** More than one buffer of them, so that whatever is still in use has to be somewhere else. */
function fillWithMore(byte: number): Buffer[] {
  return Array.from({ length: 40 }, () => shortLived(12 * KIB).fill(byte))
}

test('nothing that is still in use is given out a second time, whatever is given back in whatever order', () => {
  const step = fc.record({
    length: fc.integer({ min: 1, max: 20 * KIB }),
    back: fc.option(fc.nat()),
    from: fc.nat(3000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const held: { readonly bytes: Buffer; readonly byte: number }[] = []
      for (const [at, { length, back, from }] of steps.entries()) {
        held.push({ bytes: shortLived(length).fill(at % 256), byte: at % 256 })
        const [given] = back === null ? [] : held.splice(back % held.length, 1)
        // As the result in a node's answer: a part of what was given out.
        if (given !== undefined) giveBack(given.bytes.subarray(Math.min(from, given.bytes.length - 1)))
      }
      for (const { bytes, byte } of held) expect(bytes.every((one) => one === byte)).toBe(true)
    }),
  )
})

test('the place of what was given back is used again', () => {
  const places = new Set<ArrayBufferLike>()
  for (let at = 0; at < 1000; at++) {
    const bytes = shortLived(12 * KIB)
    places.add(bytes.buffer)
    giveBack(bytes)
  }

  expect(places.size).toBeLessThanOrEqual(2)
})

test('a piece that is given back twice takes nothing from its neighbours', () => {
  const pieces = fillWithMore(1)
  const [first, ...others] = pieces
  for (let times = 0; times < 40; times++) giveBack(first as Buffer)

  fillWithMore(2)

  for (const bytes of others) expect(bytes.every((byte) => byte === 1)).toBe(true)
})

test('what several have is not used again, whoever of them gives it back', () => {
  const shared = shortLived(12 * KIB).fill(1)
  shareShortLived(shared)
  giveBack(shared)

  fillWithMore(2)

  expect(shared.every((byte) => byte === 1)).toBe(true)
})

test('other memory is nobody’s to give back', () => {
  const own = Buffer.alloc(12 * KIB, 1)
  giveBack(own)

  fillWithMore(2)

  expect(own.every((byte) => byte === 1)).toBe(true)
})
