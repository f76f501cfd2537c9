import { expect, test } from 'vitest'
import type { NotifyRoute } from '../../src/config/resolve-notify.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { channelsFor } from '../../src/notify/routes.ts'
import { incident } from '../support/incident.ts'

const route = (over: Partial<NotifyRoute>): NotifyRoute => ({
  networks: null,
  endpoints: null,
  providers: null,
  conditions: null,
  states: null,
  channels: [],
  continues: false,
  quiet: null,
  quietPasses: 'none',
  ...over,
})

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

test('quiet hours are those of their time zone, and may pass midnight', () => {
  const quiet = { fromMinute: 22 * 60, untilMinute: 7 * 60, timeZone: 'Europe/Bucharest' }
  const hours = [19, 20, 4, 5].map((hour) =>
    heardBy(incident(), [route({ quiet, channels: ['a'] })], Date.UTC(2026, 0, 1, hour)),
  )

  expect(hours).toEqual([['a'], [], [], ['a']])
})
