import { expect, test } from 'vitest'
import { createSightings, type WritableSightings } from '../../src/state/sightings.ts'
import { bad, endpoint, good, head, pollResult } from '../support/network.ts'

const NODE = endpoint('node')
const KEY = 'ethereum/node'
const RETAINED = [{ key: KEY, shards: [null] }]

/** A poll that begins then, takes 100 ms and tells this height. */
function told(sightings: WritableSightings, startedAt: number, height: number, hash = `0x${height}`): void {
  const outcome = good(head(height, startedAt, { hash }))
  sightings.take(pollResult(NODE, startedAt, { finishedAt: startedAt + 100, heads: [{ shard: null, outcome }] }))
}

function watching(): WritableSightings {
  const sightings = createSightings()
  sightings.retain(RETAINED)
  return sightings
}

test('a head was reached after the last lower answer was requested, and before the first answer with it arrived', () => {
  const sightings = watching()

  told(sightings, 1000, 7)
  told(sightings, 2000, 7)
  told(sightings, 3000, 9)

  const [first, second] = sightings.of(KEY, null)?.heads ?? []
  expect(first).toMatchObject({ head: { height: 7 }, at: 1100, after: null, before: null })
  expect(second).toMatchObject({ head: { height: 9 }, at: 3100, after: 2000, before: 7 })
  expect(sightings.of(KEY, null)?.heads).toHaveLength(2)
})

test('another block at the same height is a separate sighting', () => {
  const sightings = watching()

  told(sightings, 1000, 7)
  told(sightings, 2000, 7, '0xother')

  expect(sightings.of(KEY, null)?.heads.map(({ head }) => head.hash)).toEqual(['0x7', '0xother'])
})

test('a poll without an answer widens the time of the next sighting', () => {
  const sightings = watching()
  told(sightings, 1000, 7)

  const outcome = bad({ kind: 'timeout', afterMs: 5000 })
  sightings.take(pollResult(NODE, 2000, { heads: [{ shard: null, outcome }] }))
  told(sightings, 3000, 8)

  expect(sightings.of(KEY, null)?.heads[1]).toMatchObject({ at: 3100, after: 1000 })
})

test('the number of sightings is bounded, for few endpoints and for very many', () => {
  const few = watching()
  const many = createSightings()
  many.retain([
    ...RETAINED,
    ...Array.from({ length: 20_000 }, (_, at) => ({ key: `ethereum/other-${at}`, shards: [null] })),
  ])

  for (const sightings of [few, many]) {
    for (let height = 0; height < 500; height++) {
      told(sightings, 1000 * height, height)
      sightings.take(pollResult(NODE, 1000 * height, { compared: [{ shard: null, height, hash: '0x' }] }))
    }
  }

  expect([few.of(KEY, null)?.heads.length, few.of(KEY, null)?.compared.length]).toEqual([64, 64])
  expect([many.of(KEY, null)?.heads.length, many.of(KEY, null)?.compared.length]).toEqual([8, 8])
  expect(few.of(KEY, null)?.heads.at(-1)?.head.height).toBe(499)
})

test('endpoints that are no longer configured are dropped, all others are kept', () => {
  const sightings = watching()
  told(sightings, 1000, 7)

  sightings.retain([...RETAINED, { key: 'ethereum/new', shards: [null] }])
  expect(sightings.of(KEY, null)?.heads).toHaveLength(1)
  sightings.retain([])
  told(sightings, 2000, 8)

  expect(sightings.of(KEY, null)).toBeUndefined()
})

test('a wall clock that is set makes no endpoint late', () => {
  const sightings = watching()
  told(sightings, 1000, 7)
  told(sightings, 2000, 8)

  sightings.shift(3_600_000)
  told(sightings, 3_603_000, 9)

  expect(sightings.of(KEY, null)?.heads[1]).toMatchObject({ at: 3_602_100, after: 3_601_000 })
  expect(sightings.of(KEY, null)?.heads[2]).toMatchObject({ at: 3_603_100, after: 3_602_000 })
})
