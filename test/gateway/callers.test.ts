import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { parseSize } from '../../src/config/scalars.ts'
import { type CallerSettings, createCallers } from '../../src/gateway/request/callers.ts'
import { BodyMemory } from '../../src/gateway/request/request-body.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { caller, ID } from './setting.ts'

function callersOf(...of: CallerSettings[]) {
  const callers = createCallers({ clock: createFakeClock() })
  callers.configure(of)
  return callers
}

test('a valid id finds its caller; any other text finds none', () => {
  const callers = callersOf(caller('wallet', ID), caller('shop', 'shop-0123456789abcdef'))

  expect(callers.find(ID)?.name).toBe('wallet')
  expect(callers.find('shop-0123456789abcdef')?.name).toBe('shop')
  const wrong = ['', ID.slice(0, -1), `${ID}0`, ID.toUpperCase(), '__proto__', 'ä'.repeat(20), 'x'.repeat(100_000)]
  for (const id of wrong) expect(callers.find(id)).toBeNull()
})

test('without callers, no id is valid', () => {
  expect(callersOf().find('')).toBeNull()
  expect(callersOf().find(ID)).toBeNull()
})

test('nothing of an id is in what others get to see', () => {
  const callers = callersOf(caller('wallet', ID))

  const seen = inspect([callers, callers.list(), callers.find(ID)], { depth: 9, showHidden: true })

  expect(seen).toContain('wallet')
  expect(seen).not.toContain(ID)
  expect(seen).not.toContain(ID.slice(7))
})

test('a reload takes an id away at once; who keeps the name keeps what is counted, and who keeps the limit what is left of it', () => {
  const rateLimit = { requests: 2, perMs: 60_000 }
  const callers = callersOf(caller('wallet', ID, { rateLimit }), caller('shop', 'shop-0123456789abcdef'))
  callers.find(ID)!.rateLimiter!.take(2)
  callers.find(ID)!.tally.requests = 7

  callers.configure([caller('wallet', 'another-0123456789abc', { rateLimit })])

  expect(callers.find(ID)).toBeNull()
  expect(callers.find('shop-0123456789abcdef')).toBeNull()
  const now = callers.find('another-0123456789abc')
  expect(now?.tally.requests).toBe(7)
  expect(now?.rateLimiter?.take(1)).toBeGreaterThan(0)

  callers.configure([caller('wallet', ID, { rateLimit: { ...rateLimit, requests: 3 } })])
  expect(callers.find(ID)?.rateLimiter?.take(3)).toBe(0)
})

test('a caller among several may send a body of 56 MiB, as documented, and no larger one', () => {
  const callers = callersOf(caller('wallet', ID), caller('shop', 'shop-0123456789abcdef'))
  const memory = new BodyMemory(callers)
  const largest = parseSize('56MiB') ?? 0
  memory.configure(2 * largest)
  const wallet = callers.find(ID)

  expect([memory.mayTake(wallet, largest), memory.mayTake(wallet, largest + 1)]).toEqual([true, false])
})
