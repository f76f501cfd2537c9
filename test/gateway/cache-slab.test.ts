import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCacheSlab, type Slot } from '../../src/gateway/cache/cache-slab.ts'

const KIB = 1024
const MIB = KIB * KIB

function filled(length: number, byte: number): Buffer {
  return Buffer.alloc(length, byte)
}

test('what is put in comes out again, whatever else comes and goes, and no more memory is taken than allowed', () => {
  const step = fc.record({ length: fc.integer({ min: 0, max: 60 * KIB }), freed: fc.nat(), byte: fc.nat(255) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 4 * KIB, max: 512 * KIB }), (steps, maxBytes) => {
      const memory = createCacheSlab(maxBytes)
      const kept: { slot: Slot; bytes: Buffer }[] = []
      for (const { length, freed, byte } of steps) {
        const bytes = filled(length, byte)
        const slot = memory.put(bytes)
        if (slot !== null) kept.push({ slot, bytes })
        else if (kept.length > 0) kept.splice(freed % kept.length, 1)[0]?.slot.free()
        expect(memory.bytes).toBeLessThanOrEqual(maxBytes)
      }
      for (const { slot, bytes } of kept) expect(slot.copy().equals(bytes)).toBe(true)
    }),
  )
})

test('what was given out stays as it was when its place is used again', () => {
  const memory = createCacheSlab(MIB)
  const slot = memory.put(filled(1000, 1))
  const given = slot?.copy()

  slot?.free()
  memory.put(filled(1000, 2))

  expect(given?.equals(filled(1000, 1))).toBe(true)
})

test('memory that short answers took is there for long ones once they are gone', () => {
  const memory = createCacheSlab(MIB)
  const short: Slot[] = []
  for (let slot = memory.put(filled(200, 1)); slot !== null; slot = memory.put(filled(200, 1))) short.push(slot)
  const whileFull = memory.put(filled(300 * KIB, 2))

  for (const slot of short) slot.free()

  expect(whileFull).toBeNull()
  expect(memory.put(filled(300 * KIB, 2))).not.toBeNull()
})

test('a hundred thousand answers that come and go take the memory of those that are there', () => {
  const memory = createCacheSlab(MIB)
  const kept: Slot[] = []
  const taken = new Set<number>()

  for (let turn = 0; turn < 100_000; turn++) {
    const slot = memory.put(filled(1000 + (turn % 50), turn % 256))
    if (slot !== null) kept.push(slot)
    if (kept.length > 100) kept.shift()?.free()
    taken.add(memory.bytes)
  }

  expect([...taken]).toEqual([128 * KIB])
})

test('with no memory at all nothing is kept', () => {
  expect(createCacheSlab(0).put(filled(1, 1))).toBeNull()
})
