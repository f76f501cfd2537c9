import { statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FIVE_MINUTES, HOUR, SLOT_MS, slotOf } from '../../src/store/resolution.ts'
import { cutsByAge } from '../../src/store/retention.ts'
import { createTrustedClock } from '../../src/store/sqlite/clock-trust.ts'
import { createRetainer } from '../../src/store/sqlite/retainer.ts'
import { everyEngine } from './engines.ts'
import { BASE, batchOf, benchOn, DAY_MS, finish, HOUR_MS, pollOf, RETENTION, temporaryDirectory } from './setting.ts'

const HOLD_MS = 600_000

function written(days: number, { path = ':memory:', perDay = 1440 } = {}) {
  const bench = benchOn(path)
  bench.writing.register([{ index: 0, endpoint: 'ethereum/own-1', holdMs: HOLD_MS, at: BASE }])
  for (let day = 0; day < days; day++) {
    const start = BASE + day * DAY_MS
    bench.writing.write(batchOf(Array.from({ length: perDay }, (_, at) => pollOf(start + (at * DAY_MS) / perDay))))
  }
  const now = BASE + days * DAY_MS
  const oldest = (table: string, column: string) =>
    bench.db.prepare(`SELECT min(${column}) FROM ${table}`).pluck().get() as number
  return { ...bench, now, oldest }
}

const engines = everyEngine()

describe('retention', () => {
  for (const { name, bench } of engines) {
    test(`${name} by max_size deletes the oldest polls first, and keeps their aggregates`, async () => {
      const [days, pollsADay] = [5, 3600]
      const parts = await bench({ ...RETENTION, rawMs: 30 * DAY_MS })
      const registrations = [{ index: 0, endpoint: 'ethereum/own-1', holdMs: HOLD_MS, at: BASE }]
      await parts.write(batchOf([], [{ kind: 'register', registrations }]))
      for (let day = 0; day < days; day++) {
        const start = BASE + day * DAY_MS
        await parts.write(batchOf(Array.from({ length: pollsADay }, (_, second) => pollOf(start + second * 1000))))
      }
      const now = BASE + days * DAY_MS
      const endpoint = 'ethereum/own-1'
      await parts.rollUp(now)
      const full = await parts.size()

      await parts.retain(now, full)

      const polls = await parts.read.polls({ endpoint, from: 0, to: now, limit: days * pollsADay })
      expect(await parts.size()).toBeLessThan(0.95 * full)
      expect(polls[0]?.at).toBeGreaterThanOrEqual(BASE + HOUR_MS / 2)
      expect(polls.at(-1)?.at).toBe(now - DAY_MS + (pollsADay - 1) * 1000)
      const history = await parts.read.history({ endpoint, from: BASE, to: now, stepMs: DAY_MS }, now)
      expect(history.map((one) => one.polls)).toEqual(Array(days).fill(pollsADay))
    })
  }

  for (const { name, bench } of engines.filter((engine) => engine.name === 'in PostgreSQL')) {
    test(`${name} by max_size hides no polls of a day that is not over`, async () => {
      const parts = await bench({ ...RETENTION, rawMs: 30 * DAY_MS })
      const endpoint = 'ethereum/own-1'
      const midnight = Math.ceil(BASE / DAY_MS) * DAY_MS
      await parts.write(
        batchOf([], [{ kind: 'register', registrations: [{ index: 0, endpoint, holdMs: HOLD_MS, at: BASE }] }]),
      )
      await parts.write(batchOf(Array.from({ length: 36 }, (_, at) => pollOf(midnight + at * (HOUR_MS / 2)))))
      const now = midnight + 18 * HOUR_MS
      await parts.rollUp(now)

      await parts.retain(now, 1)

      expect(await parts.read.polls({ endpoint, from: 0, to: now, limit: 99 })).toHaveLength(36)
    })
  }

  test.each([
    ['without earlier polls', 0],
    ['with polls of the slot before it, which are deleted', 1],
  ])('that makes room in the middle of a slot counts the later polls of that slot, %s', (_, slotsBefore) => {
    const [endpoint, everyMs] = ['ethereum/own-1', 5000]
    const { db, writing, rollUp, retainer, reading } = benchOn(':memory:', RETENTION, 1)
    writing.register([{ index: 0, endpoint, holdMs: 2 * everyMs, at: BASE }])
    const write = (from: number, to: number, state: 'up' | 'down') =>
      writing.write(
        batchOf(Array.from({ length: (to - from) / everyMs }, (_, at) => pollOf(from + at * everyMs, { state }))),
      )
    const middle = BASE + 100_000
    write(BASE - slotsBefore * SLOT_MS, middle, 'up')

    finish(rollUp.rollTo(middle))
    retainer.makeRoom(middle)
    finish(rollUp.rollAll())
    retainer.makeRoom(middle)
    write(middle, BASE + SLOT_MS, 'down')

    expect(db.prepare('SELECT count(*) FROM polls WHERE slot < ?').pluck().get(slotOf(BASE))).toBe(0)
    expect(createTrustedClock(db).judge(BASE + SLOT_MS - 1), 'no earlier time is computed again').toBe('trusted')
    const now = BASE + SLOT_MS
    const [whole] = reading.history({ endpoint, from: BASE, to: now, stepMs: SLOT_MS }, now)
    expect(whole).toMatchObject({ polls: 60, upMs: 100_000, downMs: 200_000 })
    const minutes = reading.history({ endpoint, from: BASE, to: now, stepMs: 60_000 }, now)
    expect(minutes.map(({ downMs }) => downMs)).toEqual([0, 20_000, 60_000, 60_000, 60_000])
  })

  test('keeps each resolution as long as configured, and the poll that holds into the first remaining slot', () => {
    const { rollUp, retainer, now, oldest } = written(40, { perDay: 288 })

    finish(rollUp.rollTo(now))
    finish(retainer.pass(now))

    expect(oldest('polls', 'slot')).toBe(slotOf(now - RETENTION.rawMs) - HOLD_MS / SLOT_MS)
    const keptHour = Math.floor((now - RETENTION.fiveMinutesMs) / HOUR_MS) * HOUR_MS
    expect(oldest('five_minutes', 'bucket')).toBe(keptHour / FIVE_MINUTES.widthMs)
    expect(oldest('hours', 'bucket')).toBe(Math.floor(BASE / HOUR.widthMs))
  })

  test('deletes nothing that is not aggregated yet', () => {
    const { db, retainer, now } = written(40, { perDay: 288 })

    finish(retainer.pass(now))

    expect(db.prepare('SELECT count(*) FROM polls').pluck().get()).toBe(40 * 288)
  })

  test('never starts a coarse resolution after a finer one, and never goes back', () => {
    const reach = fc.record({
      rolledTo: fc.nat(100_000),
      rawFrom: fc.nat(50_000),
      fiveMinutesFrom: fc.nat(4000).map((hour) => hour * 12),
      hoursFrom: fc.nat(150).map((day) => day * 24),
    })
    const days = (max: number) => fc.nat(max).map((value) => value * DAY_MS)
    const retention = fc.record({ rawMs: days(10), fiveMinutesMs: days(100), hourMs: days(400) })
    fc.assert(
      fc.property(reach, retention, fc.nat(500), fc.nat(5_000_000), (before, kept, nowDays, holdMs) => {
        const cuts = cutsByAge(kept, nowDays * DAY_MS, before, holdMs)

        expect(cuts.rawFrom).toBeGreaterThanOrEqual(before.rawFrom)
        expect(cuts.fiveMinutesFrom).toBeGreaterThanOrEqual(before.fiveMinutesFrom)
        expect(cuts.hoursFrom).toBeGreaterThanOrEqual(before.hoursFrom)
        if (cuts.fiveMinutesFrom > before.fiveMinutesFrom) {
          expect(cuts.fiveMinutesFrom).toBeLessThanOrEqual(cuts.rawFrom)
          expect(cuts.fiveMinutesFrom % 12).toBe(0)
        }
        if (cuts.hoursFrom > before.hoursFrom) {
          expect(cuts.hoursFrom * 12).toBeLessThanOrEqual(cuts.fiveMinutesFrom)
          expect(cuts.hoursFrom % 24).toBe(0)
        }
      }),
    )
  })

  test('returns free pages to the file system', () => {
    const path = join(temporaryDirectory(), 'store.db')
    const { db, rollUp, retainer, now } = written(40, { path })
    db.pragma('wal_checkpoint(TRUNCATE)')
    const before = statSync(path).size

    finish(rollUp.rollTo(now))
    finish(retainer.pass(now))
    db.pragma('wal_checkpoint(TRUNCATE)')

    expect(statSync(path).size).toBeLessThan(before / 2)
    expect(db.pragma('freelist_count', { simple: true })).toBeLessThanOrEqual(50)
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  })

  test('deletes the saved health of endpoints that were not polled for the whole retention', () => {
    const { db, writing, retainer, now } = written(1)
    const save = (endpoint: string, at: number) =>
      writing.write(batchOf([], [{ kind: 'save-health', endpoint, at, json: '{}' }]))
    save('old/one', now - RETENTION.hourMs - 1)
    save('new/one', now)

    finish(retainer.pass(now))

    expect(writing.savedHealth().map(({ endpoint }) => endpoint)).toEqual(['new/one'])
    db.close()
  })

  test('keeps only the holds that the remaining polls need', () => {
    const { db, writing, rollUp, retainer, now } = written(4)
    const register = (holdMs: number, at: number) =>
      writing.register([{ index: 0, endpoint: 'ethereum/own-1', holdMs, at }])
    register(1000, BASE + DAY_MS)
    register(2000, now - DAY_MS)
    register(3000, now)

    finish(rollUp.rollTo(now))
    finish(retainer.pass(now))

    expect(db.prepare('SELECT hold_ms FROM holds ORDER BY from_ms').pluck().all()).toEqual([1000, 2000, 3000])
    expect(db.prepare('SELECT min(from_ms) FROM holds').pluck().get()).toBe(BASE + DAY_MS)
  })

  test('of hashes that change at every poll keeps the newest, in a small share of the file', () => {
    const maxSizeBytes = 2 * 1024 ** 2
    const { db, writing, now } = written(1)
    const hash = 'f'.repeat(66)
    const changes = Array.from({ length: 20_000 }, (_, at) => ({
      kind: 'hash-change' as const,
      index: 0,
      shard: -1,
      height: 1,
      hash,
      previousHash: hash,
      at: now - 20_000 + at,
    }))
    writing.write(batchOf([], changes))
    const small = createRetainer(db, RETENTION, maxSizeBytes)

    finish(small.pass(now))

    const left = db.prepare('SELECT count(*), max(at_ms) FROM hash_changes').raw().get() as [number, number]
    expect(left).toEqual([Math.floor((maxSizeBytes * 0.02) / 200), now - 1])
    expect(db.prepare('SELECT count(*) FROM polls').pluck().get()).toBe(1440)
  })
})
