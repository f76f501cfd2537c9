import { expect, test } from 'vitest'
import { createGatewayWatch } from '../../src/notify/gateway-watch.ts'
import { type Notification, ownSubjectOf } from '../../src/notify/notification.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const START = Date.UTC(2026, 0, 1, 2, 10)

/** A gateway with one network, which a test lets reject requests. */
function setUp(member?: string) {
  const clock = createFakeClock({ now: START })
  const state = { failed: 7, hasEndpoint: true, networks: ['ethereum'], isOn: true, isAsked: true }
  const traffic = {
    networks: () => state.networks,
    failed: () => state.failed,
    hasEndpoint: () => state.hasEndpoint,
  }
  const watch = createGatewayWatch({ clock, traffic: () => (state.isOn ? traffic : null), member })
  /** Seconds with so many rejected requests in each; returns the texts of what ended. */
  async function seconds(count: number, rejected: number): Promise<string[]> {
    const ended: string[] = []
    for (let second = 0; second < count; second++) {
      state.failed += rejected
      ended.push(...watch.ended(state.isAsked).map(({ text }) => text))
      await clock.advance(1000)
    }
    return ended
  }
  const told = () => watch.open().map(({ told }) => told.text)
  return { state, watch, seconds, told }
}

/** One that has reported a network without an endpoint. */
async function setUpLacking(member?: string) {
  const all = setUp(member)
  await all.seconds(1, 0)
  all.state.hasEndpoint = false
  await all.seconds(6, 2)
  return all
}

const storedOf = (subject: string, text: string) =>
  ({ type: 'heartline.impaired', subject, text, report: null }) as unknown as Notification

test('a network without an endpoint is reported once requests were rejected for five seconds, and its end after thirty', async () => {
  const { state, seconds, told } = setUp()
  await seconds(2, 0)
  state.hasEndpoint = false

  await seconds(5, 2)
  expect(told()).toEqual([])
  await seconds(1, 2)
  expect(told()).toEqual([
    'gateway: no endpoint for network ethereum since 2026-01-01 02:10:02 UTC (12 requests rejected in 5 s)',
  ])
  state.hasEndpoint = true

  expect(await seconds(30, 0)).toEqual([])
  expect(await seconds(2, 0)).toEqual(['gateway: network ethereum has an endpoint again after 6 s'])
  expect(told()).toEqual([])
})

test.each([
  ['no request arrives', 0, false],
  ['requests fail although an endpoint is usable', 3, true],
])('nothing is reported while %s', async (_why, rejected, hasEndpoint) => {
  const { state, seconds, told } = setUp()
  state.hasEndpoint = hasEndpoint

  expect(await seconds(60, rejected)).toEqual([])
  expect(told()).toEqual([])
})

test('a lack that ends within five seconds is not reported, nor is one in which an endpoint returns for a moment an end', async () => {
  const { state, seconds, told } = setUp()
  await seconds(1, 0)
  for (let times = 0; times < 3; times++) {
    state.hasEndpoint = false
    await seconds(3, 1)
    state.hasEndpoint = true
    await seconds(1, 0)
  }
  expect(told()).toEqual([])

  state.hasEndpoint = false
  await seconds(10, 1)
  state.hasEndpoint = true
  await seconds(20, 0)
  state.hasEndpoint = false
  expect(await seconds(20, 0)).toEqual([])
  expect(told()).toHaveLength(1)
})

test('a network that loses its endpoints every minute is reported less and less often', async () => {
  const { state, seconds } = setUp()
  const ended: number[] = []

  for (let minute = 0; minute < 240; minute++) {
    state.hasEndpoint = false
    const first = await seconds(15, 1)
    state.hasEndpoint = true
    const texts = [...first, ...(await seconds(45, 1))]
    if (texts.length > 0) ended.push(minute)
  }
  state.hasEndpoint = true

  // The second one is over only after a minute without a lack, which never comes.
  expect(ended).toEqual([0])
  expect(await seconds(60, 0)).toHaveLength(1)
})

test('after an hour without a lack, the next one ends as soon as the first', async () => {
  const { state, seconds } = await setUpLacking()
  state.hasEndpoint = true
  expect(await seconds(31, 0)).toHaveLength(1)
  await seconds(3600, 0)

  state.hasEndpoint = false
  await seconds(7, 1)
  state.hasEndpoint = true

  expect(await seconds(31, 0)).toHaveLength(1)
})

test('what was reported ends when the gateway no longer serves the network, and when it has no route any more', async () => {
  const [removed, off, unasked] = [await setUpLacking(), await setUpLacking(), await setUpLacking()]
  removed.state.networks = ['avalanche']
  off.state.isOn = false
  unasked.state.isAsked = false

  expect(await removed.seconds(2, 0)).toEqual(['gateway: network ethereum is no longer served'])
  expect(await off.seconds(2, 0)).toEqual(['gateway: network ethereum is no longer served'])
  expect(await unasked.seconds(40, 1)).toEqual([])
  unasked.state.hasEndpoint = true
  expect(await unasked.seconds(31, 0)).toHaveLength(1)
  unasked.state.hasEndpoint = false
  await unasked.seconds(10, 1)
  expect(unasked.told()).toEqual([])
})

test('a restart continues what was reported, since when it began, and each daemon continues its own', async () => {
  const before = await setUpLacking('fra.host-1.8080')
  const [open] = before.watch.open()
  const { id: subject, text } = open?.told ?? { id: '', text: '' }
  expect(text).toContain('gateway of fra.host-1.8080: no endpoint for network ethereum since 2026-01-01 02:10:01 UTC')
  expect(ownSubjectOf(subject)).toEqual({ at: START + 1000, network: 'ethereum', member: 'fra.host-1.8080' })
  const stored = storedOf(subject, text)

  const after = setUp('fra.host-1.8080')
  const ownOf = (member?: string) => setUp(member).watch.isOwn(stored)
  expect([after.watch.isOwn(stored), ownOf('fra.host-2.8080'), ownOf()]).toEqual([true, false, false])
  after.watch.restore([stored])

  expect(after.told()).toEqual([text])
  after.state.hasEndpoint = false
  await after.seconds(8, 0)
  after.state.hasEndpoint = true
  expect(await after.seconds(32, 0)).toEqual([
    'gateway of fra.host-1.8080: network ethereum has an endpoint again after 7 s',
  ])
})

test('subjects of the gateway and of Heartline are distinguished, whatever networks are called', () => {
  const { watch } = setUp()
  const at = START.toString(36)
  const networkOf = (subject: string) => ownSubjectOf(subject)?.network

  expect([`${at}-heartline`, `${at}-x-heartline-gateway`, `${at}-gateway-gateway`].map(networkOf)).toEqual([
    null,
    'x-heartline',
    'gateway',
  ])
  expect(watch.isOwn(storedOf(`${at}-heartline`, ''))).toBe(false)
  expect([ownSubjectOf('test'), ownSubjectOf('6f1a0c7e-3d1b-4a9e-8f0e-0d9a5b1c2d3e')]).toEqual([null, null])
})
