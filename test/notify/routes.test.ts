import { describe, expect, test } from 'vitest'
import type { NotifyRoute } from '../../src/config/resolve-notify.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { channelsFor, gatewayChannelsFor } from '../../src/notify/routes.ts'
import { change, condition, incident } from '../support/incident.ts'
import { route } from './support.ts'

const PROVIDERS = new Map([
  ['avalanche/own-1', 'acme'],
  ['avalanche/own-2', 'other'],
])

function heardBy(of: Incident, routes: readonly NotifyRoute[], now = 0): readonly string[] {
  const providerOf = (network: string, name: string) => PROVIDERS.get(`${network}/${name}`) ?? null
  return [...channelsFor(of, { routes, channels: ['a', 'b'], now, providerOf })]
}

test.each([
  ['its endpoint', incident(), ['a']],
  ['an endpoint of another one', incident({ endpoint: 'own-2' }), ['b']],
  ['an endpoint without one', incident({ endpoint: 'own-3' }), ['b']],
  ['an outage of its endpoints', incident({ endpoint: null, cause: 'outage', affected: ['own-1', 'own-3'] }), ['a']],
  ['the whole network', incident({ endpoint: null, cause: 'halted', affected: ['own-1'] }), ['b']],
])('a route of a provider and the incident of %s', (_of, its, channels) => {
  expect(heardBy(its, [route({ providers: ['acme'], channels: ['a'] }), route({ channels: ['b'] })])).toEqual(channels)
})

const LAGGING = condition({ code: 'lagging', state: 'degraded' })
const REFUSED = condition()

test.each([
  ['holds', [LAGGING], ['a']],
  ['holds beside others', [REFUSED, LAGGING], ['a']],
  ['is over while others hold', [{ ...LAGGING, until: 1 }, REFUSED], []],
  ['is none of its own', [REFUSED], []],
])('a route of conditions and an incident with one that %s', (_how, conditions, channels) => {
  expect(heardBy(incident({ conditions }), [route({ conditions: ['lagging', 'slow'], channels: ['a'] })])).toEqual(
    channels,
  )
})

test('a route of states is about the current state, not the worst one that the incident reached', () => {
  const routes = [route({ states: ['down'], channels: ['a'] }), route({ states: ['degraded'], channels: ['b'] })]
  const improved = incident({ changes: [change(), change({ at: 1, state: 'degraded', codes: ['lagging'] })] })
  const failedAgain = incident({ changes: [...improved.changes, change({ at: 2, state: 'up' })] })

  expect([incident(), improved, failedAgain].map((its) => heardBy(its, routes))).toEqual([['a'], ['b'], ['b']])
})

test('a route matches only if all of its keys do', () => {
  const both = route({ networks: ['avalanche'], conditions: ['unreachable'], states: ['down'], channels: ['a'] })
  const others = [
    { networks: ['ethereum'] },
    { endpoints: ['own-2'] },
    { conditions: ['slow'] },
    { states: ['degraded'] },
  ]

  expect(heardBy(incident(), [both])).toEqual(['a'])
  for (const other of others) expect(heardBy(incident(), [{ ...both, ...other } as NotifyRoute])).toEqual([])
})

describe('of several routes that match', () => {
  const [first, second] = [route({ channels: ['a'] }), route({ channels: ['b'] })]
  const miss = route({ networks: ['ethereum'], channels: ['c'], continues: true })

  test.each([
    ['only the first one counts', [miss, first, second], ['a']],
    [
      'those up to the first without `continue` count',
      [{ ...first, continues: true }, miss, second, first],
      ['a', 'b'],
    ],
    ['all count if all continue', [second, first].map((one) => ({ ...one, continues: true })), ['b', 'a']],
    ['each channel counts once', [{ ...first, continues: true }, first], ['a']],
  ])('%s', (_which, routes, channels) => {
    expect(heardBy(incident(), routes)).toEqual(channels)
  })

  test('the first one counts also in its quiet hours, when it lets through what is down if it says so', () => {
    const quiet = { fromMinute: 0, untilMinute: 24 * 60, timeZone: 'UTC' }
    const heardIf = (over: Partial<NotifyRoute>) => heardBy(incident(), [{ ...first, quiet, ...over }, second])

    expect([heardIf({}), heardIf({ continues: true }), heardIf({ quietPasses: 'down' })]).toEqual([[], ['b'], ['a']])
  })
})

test('without routes every channel hears of everything, and where no route matches none does', () => {
  const of = { channels: ['a', 'b'], now: 0, providerOf: () => null }

  expect([...channelsFor(incident(), { ...of, routes: null })]).toEqual(['a', 'b'])
  expect([...channelsFor(incident(), { ...of, routes: [route({ networks: ['ethereum'], channels: ['a'] })] })]).toEqual(
    [],
  )
})

test('a route of the gateway hears of it alone, and takes no incident from a route or a channel', () => {
  const [ofGateway, rest] = [route({ gateway: true, channels: ['a'] }), route({ channels: ['b'] })]
  const heard = (routes: readonly NotifyRoute[] | null, network = 'avalanche') => [
    ...gatewayChannelsFor(network, { routes, now: 0 }),
  ]
  const elsewhere = { ...ofGateway, networks: ['ethereum'] }

  expect(heardBy(incident(), [ofGateway, rest])).toEqual(['b'])
  expect(heardBy(incident(), [ofGateway])).toEqual(['a', 'b'])
  expect(heardBy(incident(), [])).toEqual([])
  expect([heard(null), heard([]), heard([rest]), heard([elsewhere]), heard([elsewhere], 'ethereum')]).toEqual([
    [],
    [],
    [],
    [],
    ['a'],
  ])
  expect(heard([rest, ofGateway, { ...ofGateway, channels: ['c'] }])).toEqual(['a'])
  expect(heard([{ ...ofGateway, continues: true }, rest, { ...ofGateway, channels: ['c'] }])).toEqual(['a', 'c'])
})

test('quiet hours are those of their time zone, and may pass midnight', () => {
  const quiet = { fromMinute: 22 * 60, untilMinute: 7 * 60, timeZone: 'Europe/Bucharest' }
  const hours = [19, 20, 4, 5].map((hour) =>
    heardBy(incident(), [route({ quiet, channels: ['a'] })], Date.UTC(2026, 0, 1, hour)),
  )

  expect(hours).toEqual([['a'], [], [], ['a']])
})
