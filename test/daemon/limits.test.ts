import { totalmem } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connectionCaps, descriptorLimit, largeAnswerBytes, memoryLimit, softLimitOf } from '../../src/limits.ts'

test.each([
  [256, { reserve: 128, page: 32, gateway: 96, upstream: 64 }],
  [1024, { reserve: 512, page: 128, gateway: 384, upstream: 256 }],
  [4096, { reserve: 2048, page: 512, gateway: 1536, upstream: 1024 }],
  [65_536, { reserve: 16_384, page: 1024, gateway: 8192, upstream: 8192 }],
  [Number.MAX_SAFE_INTEGER, { reserve: 16_384, page: 1024, gateway: 8192, upstream: 8192 }],
])('%i descriptors are divided into %o', (limit, caps) => {
  expect(connectionCaps(limit)).toEqual(caps)
})

test('both listeners together leave at least half of the descriptors, up to the largest reserve', () => {
  fc.assert(
    fc.property(fc.integer({ min: 16, max: 1_000_000 }), (limit) => {
      const { reserve, page, gateway } = connectionCaps(limit)

      expect(limit - page - gateway).toBeGreaterThanOrEqual(reserve)
      expect(Math.min(page, gateway)).toBeGreaterThan(0)
    }),
  )
})

test('the soft limit is read from the kernel’s table', () => {
  const table = (soft: string) =>
    `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}   524288   files\n`

  expect([softLimitOf(table('1024')), softLimitOf(table('unlimited')), softLimitOf('')]).toEqual([
    1024,
    Number.MAX_SAFE_INTEGER,
    1024,
  ])
  expect(descriptorLimit()).toBeGreaterThan(100)
})

const MEBIBYTE = 2 ** 20

test.each([
  [256, 64],
  [512, 64],
  [1024, 128],
  [4096, 512],
  [65_536, 512],
])('of %i MiB of memory, large answers take %i MiB', (memory, answers) => {
  expect(largeAnswerBytes(memory * MEBIBYTE)).toBe(answers * MEBIBYTE)
})

test('the memory is that of the container or the machine', () => {
  expect(memoryLimit()).toBeGreaterThan(128 * MEBIBYTE)
  expect(memoryLimit()).toBeLessThanOrEqual(totalmem())
})
