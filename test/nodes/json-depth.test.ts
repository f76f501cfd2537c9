import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nestsDeeper } from '../../src/nodes/json-depth.ts'

/** How deep a JSON text nests, told character by character. */
function naiveDepth(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  let escaped = false
  for (const character of text) {
    if (inString) {
      if (escaped) escaped = false
      else if (character === '\\') escaped = true
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth)
    else if (character === '}' || character === ']') depth--
  }
  return deepest
}

describe('the depth of a JSON text', () => {
  test('equals that of a walk over every character, for any JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.nat(8), (text, limit) => {
        expect(nestsDeeper(Buffer.from(text), limit)).toBe(naiveDepth(text) > limit)
      }),
    )
  })

  test('equals it also for invalid JSON full of quotes, backslashes and brackets', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', 'a'), maxLength: 60 }),
        fc.nat(6),
        (text, limit) => {
          expect(nestsDeeper(Buffer.from(text), limit)).toBe(naiveDepth(text) > limit)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test.each([63, 64, 65])('is measured exactly at the limit of 64 (%i levels)', (levels) => {
    expect(nestsDeeper(Buffer.from('['.repeat(levels) + ']'.repeat(levels)), 64)).toBe(levels > 64)
  })

  test('is not what brackets within strings say', () => {
    expect(nestsDeeper(Buffer.from(JSON.stringify({ message: '[{'.repeat(1000) })), 64)).toBe(false)
  })

  test('of a mebibyte of brackets, quotes or backslashes is known within 50 ms of CPU time', () => {
    for (const unit of ['[', '"', '\\', '[]', '"\\"', '{"a":', '["\\\\"]']) {
      const text = '[]'.repeat(70) + unit.repeat(Math.floor(1_048_576 / unit.length))

      // The best of three: garbage collection adds to it.
      const took = [1, 2, 3].map(() => {
        const before = process.cpuUsage()
        nestsDeeper(Buffer.from(text), 64)
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1000
      })

      expect(Math.min(...took)).toBeLessThan(50)
    }
  })
})
