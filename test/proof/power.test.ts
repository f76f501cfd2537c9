import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canBreakDisks } from './faults.ts'
import { cutPower, LOSSES, recordWrites } from './power.ts'
import { createRandom } from './random.ts'

const BATCHES = 1000
const CASES = 80

describe.skipIf(!canBreakDisks())('a power cut', () => {
  let directory: string
  let calls: Awaited<ReturnType<typeof recordWrites>>
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
    calls = await recordWrites(directory, BATCHES)
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test(`at any moment, ${CASES} times, leaves the first batches whole, and everything that was synced`, () => {
    const cuts = [...cutPower(calls, { cases: CASES, directory, random: createRandom(5) })]

    // The moments lie on both sides of several checkpoints.
    expect(calls.filter(({ call, file }) => call === 's' && file === 'store.db').length).toBeGreaterThan(3)
    expect(new Set(cuts.map(({ how }) => how))).toEqual(new Set(LOSSES))
    for (const cut of cuts) expect(cut).toMatchObject({ whole: true, sound: true, lostThoughSynced: 0 })
    expect(Math.max(...cuts.map(({ lost }) => lost))).toBeGreaterThan(0)
  })

  test('on a disk that only pretends to sync loses more: these cases can fail', () => {
    const cuts = [...cutPower(calls, { cases: CASES, directory, random: createRandom(5), lying: true })]

    expect(cuts.some(({ lostThoughSynced }) => lostThoughSynced > 0)).toBe(true)
    expect(cuts.some(({ sound, whole }) => !sound || !whole)).toBe(true)
  })
})
