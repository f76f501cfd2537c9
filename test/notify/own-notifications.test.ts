import { describe, expect, onTestFinished, test } from 'vitest'
import type { NotifyRoute, NotifySettings } from '../../src/config/resolve-notify.ts'
import { createNotifier } from '../../src/notify/notifier.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { Secret } from '../../src/secret.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { opened } from '../store/setting.ts'
import { until } from '../support/daemon.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'
import { endpoint, network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { startReceiver } from './receiver.ts'
import { route } from './support.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1, 6, 58)
const TOLD = 'gateway: no endpoint for network ethereum since 2026-01-01 06:58:02 UTC (12 requests rejected in 5 s)'
const ROUTE = route({ gateway: true, channels: ['ops'] })
const WHOLE = { network: 'ethereum', endpoint: null, reason: 'upgrade', forMs: 2 * MINUTE }

interface Given {
  readonly clock?: FakeClock
  readonly store?: Awaited<ReturnType<typeof opened>>['store']
  readonly routes?: readonly NotifyRoute[] | null
  readonly channels?: readonly string[]
  readonly hasEndpoint?: boolean
}

/** A notifier with webhooks over a real store and a real receiver, and a gateway that a test lets reject requests. */
async function setUp(given: Given = {}) {
  const { clock = createFakeClock({ now: START }), routes = [ROUTE], channels = ['ops', 'rest'] } = given
  const { store = (await opened({ path: ':memory:', clock })).store } = given
  const told: string[] = []
  const url = await startReceiver(({ type, data }, path) => told.push(`${path.slice(1)} ${type} ${data.text}`))
  const log = recordingLog()
  const silences = createSilences({ clock, store, log })
  const its = network({ name: 'ethereum' })
  const endpoints = ['own-1', 'own-2'].map((name) => endpoint(name, { network: 'ethereum' }))
  const { board } = createWorld(clock, [{ network: its, endpoints }])
  const state = { failed: 0, hasEndpoint: given.hasEndpoint ?? true }
  const traffic = () => ({
    networks: () => ['ethereum'],
    failed: () => state.failed,
    hasEndpoint: () => state.hasEndpoint,
  })
  const notifier = createNotifier({
    clock,
    log,
    store,
    silences,
    board,
    traffic,
    incidents: createIncidentLog(),
    trouble: () => [],
    polls: () => ({ firstRoundDone: true, lateMs: 0 }),
    random: () => 0,
  })
  onTestFinished(() => notifier.stop())

  function configure(names: readonly string[], its: readonly NotifyRoute[] | null): void {
    const settings: NotifySettings = {
      channels: names.map((name) => ({
        name,
        minState: 'down',
        groupWaitMs: 0,
        repeatMs: null,
        ca: null,
        target: { type: 'webhook', url: new Secret(`${url}/${name}`), secret: null },
      })),
      routes: its === null ? null : [...its],
      ratePerMinute: 10_000,
      heartbeat: null,
    }
    notifier.configure(settings, null)
  }

  /** Seconds with so many rejected requests in each; what is to be sent arrives in the same second. */
  async function seconds(count: number, rejected = 0): Promise<string[]> {
    for (let second = 0; second < count; second++) {
      state.failed += rejected
      await clock.advance(1000)
      if (notifier.status().waiting.length === 0) continue
      await until(async () => {
        await store.flush()
        await clock.advance(0)
        return notifier.status().waiting.length === 0
      }, 'nothing waits')
    }
    return told
  }

  /** No endpoint is usable, and two requests a second are rejected, for some seconds. */
  async function lack(count: number): Promise<string[]> {
    state.hasEndpoint = false
    return seconds(count, 2)
  }

  configure(channels, routes)
  await silences.restore()
  await notifier.restore()
  notifier.start()
  await clock.advance(0)
  return { clock, store, state, board, silences, notifier, configure, seconds, lack, told }
}

test('the channels of a route with `gateway: true` hear once that a network has no endpoint, and once of its end', async () => {
  const { state, seconds, lack, told } = await setUp()

  // The first look at the counter.
  await seconds(1)
  await lack(120)
  state.hasEndpoint = true
  await seconds(120)

  expect(told).toEqual([
    `ops heartline.impaired ${TOLD}`,
    'ops heartline.recovered gateway: network ethereum has an endpoint again after 2 min',
  ])
})

test.each([
  ['there are no routes', null],
  ['no route asks for it', [{ ...ROUTE, gateway: false }]],
  ['the route is about another network', [{ ...ROUTE, networks: ['avalanche'] }]],
])('no channel hears of it if %s', async (_why, routes) => {
  const { seconds, lack, told } = await setUp({ routes })
  await seconds(1)

  await lack(60)

  expect(told).toEqual([])
})

describe('quiet hours', () => {
  const quiet = { fromMinute: 22 * 60, untilMinute: 7 * 60, timeZone: 'UTC' }

  test('put it off until their end, if it still holds then', async () => {
    const [lasting, passing] = [
      await setUp({ routes: [{ ...ROUTE, quiet }] }),
      await setUp({ routes: [{ ...ROUTE, quiet }] }),
    ]
    for (const { seconds } of [lasting, passing]) await seconds(1)

    expect(await lasting.lack(110)).toEqual([])
    expect(await lasting.seconds(10)).toHaveLength(1)
    await passing.lack(30)
    passing.state.hasEndpoint = true
    expect(await passing.seconds(240)).toEqual([])
  })

  test('that let through what is down let it through', async () => {
    const { seconds, lack } = await setUp({ routes: [{ ...ROUTE, quiet, quietPasses: 'down' }] })
    await seconds(1)

    expect(await lack(10)).toHaveLength(1)
  })
})

describe('nothing is sent', () => {
  test('in a silence of the network, and what still holds at its end is sent then, with its real beginning', async () => {
    const { silences, seconds, lack } = await setUp()
    await seconds(1)
    silences.add(WHOLE)

    expect(await lack(115)).toEqual([])
    expect(await seconds(10)).toEqual([`ops heartline.impaired ${TOLD}`])
  })

  test('while all of its endpoints are silenced, but while one of them is', async () => {
    const [all, one] = [await setUp(), await setUp()]
    for (const { seconds, silences } of [all, one]) {
      await seconds(1)
      silences.add({ ...WHOLE, endpoint: 'own-1' })
    }
    all.silences.add({ ...WHOLE, endpoint: 'own-2' })

    expect([(await all.lack(60)).length, (await one.lack(60)).length]).toEqual([0, 1])
  })

  test('in planned maintenance of all endpoints, and what still holds at its end is sent then', async () => {
    const { board, seconds, lack } = await setUp()
    const period = { name: 'upgrade', network: 'ethereum', endpoints: null, from: START, until: START + 2 * MINUTE }
    await seconds(1)
    board.putMaintenance([period])

    expect(await lack(115)).toEqual([])
    expect(await seconds(10)).toHaveLength(1)
  })
})

test('a channel that heard of it hears of its end, also in a silence and without the route', async () => {
  const { silences, state, configure, seconds, lack, told } = await setUp()
  await seconds(1)
  await lack(10)

  silences.add({ ...WHOLE, forMs: 60 * MINUTE })
  configure(['ops', 'rest'], null)
  state.hasEndpoint = true
  await seconds(40)

  expect(told.map((line) => line.split(' ')[1])).toEqual(['heartline.impaired', 'heartline.recovered'])
})

test('a channel that a reload adds hears of what holds, and the others nothing again', async () => {
  const { configure, seconds, lack, told } = await setUp()
  await seconds(1)
  await lack(10)

  configure(['ops', 'rest', 'new'], [{ ...ROUTE, channels: ['ops', 'new'] }])
  await seconds(10)

  expect(told.map((line) => line.split(' ')[0])).toEqual(['ops', 'new'])
})

test('a restart sends nothing again, and then its end, however many messages about incidents came later', async () => {
  const before = await setUp()
  await before.seconds(1)
  await before.lack(10)
  await before.notifier.stop()
  const createdAt = before.clock.now()
  for (let nth = 0; nth < 1100; nth++) {
    const row = { id: `later-${nth}`, channel: 'ops', incident: `i-${nth}`, createdAt, waiting: false, value: {} }
    before.store.saveNotification(row)
  }
  await before.store.flush()

  const { state, seconds, told } = await setUp({ clock: before.clock, store: before.store, hasEndpoint: false })
  await seconds(10, 2)
  state.hasEndpoint = true
  await seconds(40)

  expect(before.told).toHaveLength(1)
  expect(told).toEqual([expect.stringMatching(/^ops heartline\.recovered .* has an endpoint again after \d+ s$/)])
})
