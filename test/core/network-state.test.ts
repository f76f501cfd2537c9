import fc from 'fast-check'
import { expect, test } from 'vitest'
import { STATES, type State } from '../../src/core/verdict/condition.ts'
import { networkState } from '../../src/core/verdict/network-state.ts'

test.each<[readonly State[], State]>([
  [[], 'unknown'],
  [['up', 'up'], 'up'],
  [['up', 'degraded'], 'degraded'],
  [['up', 'down'], 'degraded'],
  [['degraded', 'degraded'], 'degraded'],
  [['degraded', 'down'], 'degraded'],
  [['down', 'down'], 'down'],
  [['unknown', 'unknown'], 'unknown'],
  [['up', 'unknown'], 'up'],
  [['down', 'unknown'], 'down'],
  [['down', 'maintenance'], 'down'],
  [['up', 'maintenance'], 'up'],
  [['maintenance', 'maintenance'], 'maintenance'],
  [['maintenance', 'unknown'], 'unknown'],
])('a network whose endpoints are %j is %s', (states, expected) => {
  expect(networkState(states)).toBe(expected)
})

test('neither the order of the endpoints nor one more in maintenance changes the state of a network that is known', () => {
  const known = fc.constantFrom<State>('up', 'degraded', 'down')
  fc.assert(
    fc.property(
      fc.array(known, { minLength: 1 }),
      fc.array(fc.constantFrom<State>('maintenance', 'unknown')),
      (a, b) => {
        expect(networkState([...b, ...a.toReversed()])).toBe(networkState(a))
      },
    ),
  )
})

test('the state of networks is one of the states', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...STATES)), (states) => {
      expect(STATES).toContain(networkState(states))
    }),
  )
})
