import { expect, test } from 'vitest'
import { playFleetOutage } from '../support/fleet-outage.ts'

/** Five thousand endpoints that fail within one round of polls: what a page, a feed, a channel and the store get of it. */
test.each([
  { of: 'one host', shape: { endpoints: 5000, hosts: 1, provider: null } },
  { of: 'one provider, on 500 hosts', shape: { endpoints: 5000, hosts: 500, provider: 'acme' } },
])('5,000 endpoints of $of are one incident, and two messages', async ({ shape }) => {
  const { listed, absorbed, saves, savedBytes, messages, errors } = await playFleetOutage(shape)

  expect(listed).toMatchObject([{ cause: 'outage', provider: shape.provider, closedAt: expect.any(Number) }])
  expect(listed[0]?.affected).toHaveLength(5000)
  expect(absorbed).toBeLessThanOrEqual(10)
  expect(messages.map(({ type, reports }) => [type, reports.length])).toEqual([
    ['incident.opened', 1],
    ['incident.closed', 1],
  ])
  expect(errors).toBe(0)
  // About one write a second while endpoints join, although each names all of them.
  expect(saves).toBeLessThan(60)
  expect(savedBytes).toBeLessThan(4_000_000)
})

test('5,000 endpoints on 500 hosts without a provider are one incident for each host, opened in few messages', async () => {
  const { listed, messages, errors } = await playFleetOutage({ endpoints: 5000, hosts: 500, provider: null })

  expect(listed).toHaveLength(500)
  expect(listed.every(({ cause, affected }) => cause === 'outage' && affected.length === 10)).toBe(true)
  // Each groups at most 250.
  expect(messages.filter(({ type }) => type === 'incident.opened').length).toBeLessThanOrEqual(5)
  expect(errors).toBe(0)
})
