import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { AdminCall, AliasRecord } from '../../src/core/routing/alias.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, batchOf, benchOn, DAY_MS, finish, opened, RETENTION, temporaryDirectory } from './setting.ts'

const ALIAS: AliasRecord = {
  network: 'avalanche',
  alias: 'my/chain',
  target: 'bc/C',
  endpoint: 'own-1',
  nodeId: 'NodeID-1',
  caller: 'operations',
  at: BASE,
  stale: null,
}
const CALL: AdminCall = {
  at: BASE,
  nth: 1,
  network: 'avalanche',
  caller: 'operations',
  alias: 'my/chain',
  target: 'bc/C',
  endpoint: 'own-1',
  nodeId: null,
  outcome: 'accepted',
}

const engines = everyEngine()
const shared = engines.find(({ name }) => name === 'in PostgreSQL')

describe('aliases', () => {
  for (const { name, open } of engines) {
    test(`${name} are returned as they were saved last`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE }) })

      store.saveAlias(ALIAS)
      store.saveAlias({ ...ALIAS, alias: 'other', nodeId: null })
      store.saveAlias({ ...ALIAS, network: 'fuji' })
      store.saveAlias({ ...ALIAS, stale: { at: BASE + 5, reason: 'other-node' } })
      await store.flush()

      expect(await store.aliases()).toEqual([
        { ...ALIAS, stale: { at: BASE + 5, reason: 'other-node' } },
        { ...ALIAS, alias: 'other', nodeId: null },
        { ...ALIAS, network: 'fuji' },
      ])
    })
  }

  test.skipIf(shared === undefined)(
    'in PostgreSQL are not replaced by what was known before they were created again',
    async () => {
      const { store } = await shared!.open({ clock: createFakeClock({ now: BASE }) })

      store.saveAlias({ ...ALIAS, at: BASE + 10 })
      store.saveAlias({ ...ALIAS, stale: { at: BASE + 5, reason: 'lost' } })
      await store.flush()

      expect(await store.aliases()).toEqual([{ ...ALIAS, at: BASE + 10 }])
    },
  )

  test('survive a restart', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const first = await opened({ path })
    first.store.saveAlias(ALIAS)
    await first.store.close()

    const second = await opened({ path })

    expect(await second.store.aliases()).toEqual([ALIAS])
  })
})

describe('the audit of admin calls', () => {
  test('has a row for each call, even for two in one millisecond', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store } = await opened({ path })

    store.adminCall(CALL)
    store.adminCall({ ...CALL, nth: 2, endpoint: null, outcome: 'refused' })
    await store.flush()

    const db = new Database(path, { readonly: true })
    const rows = db.prepare('SELECT nth, endpoint, outcome FROM admin_calls').all()
    db.close()
    expect(rows).toEqual([
      { nth: 1, endpoint: 'own-1', outcome: 'accepted' },
      { nth: 2, endpoint: null, outcome: 'refused' },
    ])
  })

  test('is kept as long as hours are', () => {
    const bench = benchOn()
    const now = BASE + RETENTION.hourMs + DAY_MS
    bench.writing.write(
      batchOf(
        [],
        [BASE, now - DAY_MS].map((at) => ({ kind: 'admin-call', call: { ...CALL, at } })),
      ),
    )

    finish(bench.retainer.pass(now))

    expect(bench.db.prepare('SELECT at_ms FROM admin_calls').pluck().all()).toEqual([now - DAY_MS])
  })
})
