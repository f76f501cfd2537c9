import { expect, test } from 'vitest'
import { createOwnedNetworks } from '../../src/daemon/owned-networks.ts'
import { createFakeClock } from '../support/fake-clock.ts'

test('a network that is claimed at the very end of taking up others is polled too', async () => {
  const clock = createFakeClock()
  const adopted: string[] = []
  const owned = createOwnedNetworks({
    store: { savedHealth: async () => [], flush: async () => undefined },
    poller: { adopt: (network) => void adopted.push(network), leave: () => undefined, save: () => undefined },
    reschedule: () => queueMicrotask(() => owned.take('late')),
    scheduler: { pollSoon: () => undefined },
    clock,
  })

  owned.take('one')
  owned.take('two')
  await clock.advance(0)
  await clock.advance(0)

  expect(adopted).toEqual(['one', 'two', 'late'])
})
