import { expect, test } from 'vitest'
import { createOwnedNetworks } from '../../src/daemon/owned-networks.ts'
import { createFakeClock } from '../support/fake-clock.ts'

test('a network that another member polled before is polled before its first regular turn, and a new one is not', async () => {
  const done: string[] = []
  const saved = ['old/a', 'old/b', 'other/a'].map((endpoint) => ({ endpoint, at: 1, value: {} }))
  const owned = createOwnedNetworks({
    clock: createFakeClock(),
    store: { savedHealth: async () => saved, flush: async () => undefined },
    poller: { adopt: (name) => void done.push(`adopt ${name}`), leave: () => undefined, save: () => undefined },
    reschedule: () => void done.push('reschedule'),
    scheduler: { pollSoon: (endpoint) => void done.push(`poll ${endpoint}`) },
  })

  owned.take('old')
  owned.take('new')
  await expect.poll(() => done.includes('reschedule')).toBe(true)

  expect(done).toEqual(['adopt old', 'adopt new', 'reschedule', 'poll old/a', 'poll old/b'])
})

test.each([
  ['given back is saved for the next owner', true, ['save n', 'leave n', 'flush']],
  ['that another member has taken is not, because that one knows more', false, ['leave n']],
])('a network %s', async (_, isGivenBack, expected) => {
  const done: string[] = []
  const owned = createOwnedNetworks({
    clock: createFakeClock(),
    store: { savedHealth: async () => [], flush: async () => void done.push('flush') },
    poller: {
      adopt: () => undefined,
      leave: (name) => void done.push(`leave ${name}`),
      save: (name) => void done.push(`save ${name}`),
    },
    reschedule: () => undefined,
    scheduler: { pollSoon: () => undefined },
  })
  owned.take('n')
  await expect.poll(() => owned.has('n')).toBe(true)

  await owned.release('n', isGivenBack)

  expect(done).toEqual(expected)
  expect(owned.has('n')).toBe(false)
})
