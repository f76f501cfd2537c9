import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue, FairShare } from '../../src/core/fair-share.ts'

/** Takes one at a time until no more may be taken, and says how many. */
function fill(share: FairShare, caller: string | null): number {
  let taken = 0
  for (; share.mayTake(caller); taken++) share.take(caller)
  return taken
}

describe('a fair share', () => {
  test('is half for each caller, and the last eighth is for those who hold little', () => {
    const share = new FairShare(128)

    expect(fill(share, 'a')).toBe(64)
    expect(fill(share, 'b')).toBe(48)
    expect(fill(share, 'c')).toBe(8)
    expect(fill(share, 'd')).toBe(8)
    expect(fill(share, 'e')).toBe(0)
  })

  test('is everything for a caller without competitors', () => {
    expect(fill(new FairShare(128), null)).toBe(128)
  })

  test('can be set', () => {
    const share = new FairShare(64)
    share.maxOfOne = 8

    expect(fill(share, 'a')).toBe(8)
  })

  test.each([1, 2, 3, 5])('is at least one of %i', (max) => {
    expect(fill(new FairShare(max), 'a')).toBeGreaterThanOrEqual(1)
  })

  test('is never more than there is, and is free again once released', () => {
    const step = fc.record({ caller: fc.constantFrom('a', 'b', 'c', null), amount: fc.integer({ min: 1, max: 9 }) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.array(step), (max, steps) => {
        const share = new FairShare(max)
        const taken: (typeof steps)[number][] = []
        for (const { caller, amount } of steps) {
          if (!share.mayTake(caller, amount)) {
            const last = taken.pop()
            if (last !== undefined) share.release(last.caller, last.amount)
            continue
          }
          share.take(caller, amount)
          taken.push({ caller, amount })
          expect(share.total).toBeLessThanOrEqual(max)
        }
        for (const { caller, amount } of taken) share.release(caller, amount)
        expect([share.total, share.heldBy('a'), share.heldBy('b'), share.heldBy('c')]).toEqual([0, 0, 0, 0])
      }),
    )
  })
})

describe('a fair queue', () => {
  const anyone = () => true

  test('serves one caller after the other, and each in order', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item[0] ?? '', item)

    const served = Array.from({ length: 7 }, () => queue.next(anyone)?.item)

    expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
    expect(queue.size).toBe(0)
  })

  test('passes over callers that may not be served now', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'b1', 'a2']) queue.add(item[0] ?? '', item)

    expect(queue.next((caller) => caller === 'b')?.item).toBe('b1')
    expect(queue.next((caller) => caller === 'b')).toBeNull()
    expect(queue.next(anyone)).toEqual({ caller: 'a', item: 'a1' })
  })

  test('forgets those that leave', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'b1', 'a2']) queue.add(item[0] ?? '', item)

    queue.delete('a1')
    queue.delete('b1')

    expect(queue.size).toBe(1)
    expect(queue.drain()).toEqual(['a2'])
    expect(queue.next(anyone)).toBeNull()
  })
})
