import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/clock.ts'
import type { EndpointKey } from '../src/core/endpoint.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../src/store/migrations.ts'
import { openStore } from '../src/store/open-store.ts'
import { POLL_NUMBERS } from '../src/store/poll-columns.ts'
import { openDatabase } from '../src/store/sqlite/database.ts'
import { createRollUp } from '../src/store/sqlite/roll-up.ts'
import { createWriteStatements } from '../src/store/sqlite/write-statements.ts'
import type { Store } from '../src/store/store.ts'

const DAY_MS = 86_400_000
const INTERVAL_MS = 30_000
const HOLD_MS = 2 * INTERVAL_MS
const RETENTION = { rawMs: 2 * DAY_MS, fiveMinutesMs: 30 * DAY_MS, hourMs: 730 * DAY_MS }
const MAX_SIZE = 100 * 1024 ** 3
const OUTAGE_MS = 1_200_000

/** A store in a file, in which each endpoint was polled every 30 s for a day; here and there one of them was down for a while. */
export async function dayOfHistory(
  keys: readonly EndpointKey[],
): Promise<{ store: Store; remove: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  const path = join(directory, 'day.db')
  const to = systemClock.now()
  fill(path, keys, to - DAY_MS, to)
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const store = await openStore({ path, retention: RETENTION, maxSizeBytes: MAX_SIZE, clock: systemClock, log })
  store.register(
    keys.map((endpoint) => ({ endpoint, holdMs: HOLD_MS })),
    to,
  )
  return {
    store,
    async remove() {
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
}

function fill(path: string, keys: readonly EndpointKey[], from: number, to: number): void {
  const { db } = openDatabase(path, readMigrations(SQLITE_MIGRATIONS), MAX_SIZE)
  const rollUp = createRollUp(db)
  const writing = createWriteStatements(db, rollUp)
  db.pragma('synchronous = OFF')
  writing.register(keys.map((endpoint, index) => ({ index, endpoint, holdMs: HOLD_MS, at: from })))
  for (let at = from; at < to; at += INTERVAL_MS) {
    writing.write({ polls: roundAt(at, keys.length), events: [] })
    for (const _ of rollUp.rollTo(at)) continue
  }
  db.close()
}

function roundAt(at: number, endpoints: number): Float64Array {
  const polls = new Float64Array(endpoints * POLL_NUMBERS)
  for (let index = 0; index < endpoints; index++) {
    const isDown = (Math.floor(at / OUTAGE_MS) * 7 + index) % 61 === 0
    const latencyUs = 20_000 + ((Math.floor(at / INTERVAL_MS) * 7919 + index * 104_729) % 60_000)
    const height = Math.floor(at / 12_000)
    polls.set(
      [index, at + index, isDown ? 5 : 0, latencyUs, height, isDown ? 12 : 0, Number.NaN, Number.NaN],
      index * POLL_NUMBERS,
    )
  }
  return polls
}
