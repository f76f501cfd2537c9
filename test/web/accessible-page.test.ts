import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { HistoryBucket } from '../../src/store/store.ts'
import { NODE, OTHER, OWN, type Setting, setUp } from '../http/setting.ts'
import { findingsInAllLooks, hasChromium, openChromium } from '../support/chromium.ts'
import { incident } from '../support/incident.ts'
import { bad, good, head, liveness, nodeCheck } from '../support/network.ts'
import { aClusterReport, aPlace, DISAGREEING, putPlaces } from '../support/places.ts'

/** A member that shows its own view, and knows of others with other networks. */
const CLUSTER = aClusterReport({
  members: aClusterReport().members.map((member) => ({ ...member, differs: !member.isSelf })),
  store: { reachable: false, since: systemClock.now() - 60_000, spoolRows: 120, lagMs: null },
})

/** Over a daemon that has everything to show: each state, open and closed incidents, a history with a gap, several places. */
describe.runIf(hasChromium)('axe finds no violation', () => {
  const { show } = openChromium()
  let setting: Setting
  let address: string

  beforeAll(async () => {
    setting = setUp({ realClock: systemClock, store: { history }, cluster: () => CLUSTER })
    await fill(setting)
    const { port } = await setting.server.listen()
    address = `http://127.0.0.1:${port}`
  })
  afterAll(() => setting?.server.close())

  test.each([
    '/',
    '/networks/avalanche',
    '/networks/ethereum',
    '/endpoints/avalanche/own-1',
    '/endpoints/ethereum/node',
    '/incidents',
    `/incidents/${incident().id}`,
    '/gateway',
    '/notifications',
    '/observer',
    '/nothing',
  ])(
    'on %s, light and dark, on a screen and a phone',
    async (path) => {
      // A page that says that there is nothing has no events to be live by.
      const { page } = await show(address + path, {
        reducedMotion: 'reduce',
        ...(path === '/nothing' && { until: 'h1' }),
      })

      expect(await findingsInAllLooks(page)).toEqual([])
    },
    120_000,
  )
})

async function fill({ world, incidents }: Setting): Promise<void> {
  await world.pollAll()
  const failing = nodeCheck('bls', { contiguousFailures: 5 })
  for (let poll = 0; poll < 2; poll++) {
    await world.poll(OWN, { liveness: good(liveness(systemClock.now(), { checks: [failing] })) })
    await world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
  }
  await world.poll(OTHER, { heads: [{ shard: null, outcome: good(head(1001, systemClock.now())) }] })
  putPlaces(world.board, NODE, [...DISAGREEING, aPlace('syd1', { state: 'unknown', counted: false })], 1)
  incidents.put(incident({ openedAt: systemClock.now() - 90_000 }))
}

const history = async ({ from, to, stepMs }: { from: number; to: number; stepMs: number }): Promise<HistoryBucket[]> =>
  Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => bucket(from + at * stepMs, stepMs, at))

/** Of every eight: one unknown, one down, one degraded, one in maintenance. */
function bucket(start: number, widthMs: number, at: number): HistoryBucket {
  const of = (place: number) => (at % 8 === place ? widthMs : 0)
  return {
    start,
    upMs: at % 8 < 4 ? widthMs : 0,
    downMs: of(4),
    degradedMs: of(5),
    maintenanceMs: of(6),
    unknownMs: of(7),
    latencyP50Ms: 10,
    latencyP95Ms: 20 + at,
    latencyMaxMs: 300,
    polls: 60,
    height: 1000 + at,
    lagBlocksMax: at % 5,
    heartbeatLagMaxMs: 1000 * (at % 9),
    contiguousFailuresMax: at % 3,
  }
}
