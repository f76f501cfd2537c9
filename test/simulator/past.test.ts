import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { writeDemoPast } from '../../src/commands/demo-past.ts'
import { configFromObject } from '../../src/config/load.ts'
import { startDemoNodes } from '../../src/simulator/demo.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'
import { silentLog } from '../support/log.ts'

const DAY_MS = 86_400_000
let folder: string
let store: Store
let until: number

beforeAll(async () => {
  folder = temporaryFolder()
  const nodes = await startDemoNodes({ clock: systemClock })
  await nodes.stop()
  const loaded = configFromObject({ ...nodes.config, store: { path: join(folder, 'demo.db') } }, folder, {})
  if (!loaded.ok) throw new Error('the configuration of the demo is invalid')
  await writeDemoPast(loaded.config, silentLog, new AbortController().signal)
  until = Date.now()
  store = await openStore({ ...loaded.config.store, clock: systemClock, log: silentLog, onCommit() {} })
}, 120_000)
afterAll(async () => {
  await store?.close()
  removeFolder(folder)
})

interface Told {
  readonly conditions: readonly { readonly code: string }[]
  readonly verdict: string
}

describe('the past of the demo', () => {
  test('tells its stories as incidents, each judged as the live polls are', async () => {
    const incidents = (await store.incidents({ limit: 100 })).toSorted(
      (a, b) => a.openedAt - b.openedAt || a.network.localeCompare(b.network),
    )
    const told = incidents.map(({ network, endpoint, value }) => {
      const codes = (value as Told).conditions.map(({ code }) => code)
      return `${network}${endpoint === null ? '' : `/${endpoint}`}: ${[...new Set(codes)].sort().join(' ')}`
    })

    expect(told).toEqual([
      'multiversx/own-1: unreachable',
      'avalanche/own-2: heartbeat-stale',
      'avalanche/provider: bad-answer',
      'ethereum/provider: bad-answer',
      'avalanche/own-2: forked',
      'ethereum/own-2: lagging',
      'multiversx: halted',
      'multiversx/provider: slow',
      'ethereum/own-1: lagging stalled',
    ])
    const night = incidents[5]
    expect(((night?.closedAt ?? 0) - (night?.openedAt ?? 0)) / 3_600_000).toBeCloseTo(7.4, 0)
    expect(incidents.every(({ closedAt }) => closedAt !== null)).toBe(true)
  })

  test('covers 90 days, but not the hours in which Heartline did not run; planned maintenance is no downtime', async () => {
    const of = async (endpoint: string, fromDaysAgo: number, days: number) => {
      const from = until - fromDaysAgo * DAY_MS
      const query = { endpoint, from, to: from + days * DAY_MS, stepMs: days * DAY_MS }
      const [bucket] = await store.history(query)
      if (bucket === undefined) throw new Error('a query of one bucket has one')
      return bucket
    }
    const whole = await of('ethereum/own-1', 89, 89)
    const off = await of('ethereum/own-1', 8.1, 0.1)
    const maintained = await of('avalanche/own-1', 20, 1)

    expect(whole.unknownMs / 3_600_000).toBeGreaterThan(3)
    expect(whole.unknownMs / 3_600_000).toBeLessThan(8)
    expect(off.unknownMs).toBe(0.1 * DAY_MS)
    expect(maintained.maintenanceMs / 60_000).toBeCloseTo(60, -1)
    expect(maintained.downMs).toBe(0)
  })
})
