import { beforeEach, expect, test, vi } from 'vitest'
import { network } from '../support/network.ts'
import { NODE, setUp } from './setting.ts'

const compressed = vi.hoisted(() => ({ times: 0, isHeld: false, held: [] as (() => void)[] }))
vi.mock('node:zlib', async (original) => {
  const zlib = await original<typeof import('node:zlib')>()
  const gzip = (...args: Parameters<typeof zlib.gzip>) => {
    compressed.times++
    if (compressed.isHeld) compressed.held.push(() => zlib.gzip(...args))
    else zlib.gzip(...args)
  }
  const brotliCompress = (...args: Parameters<typeof zlib.brotliCompress>) => {
    compressed.times++
    zlib.brotliCompress(...args)
  }
  return { ...zlib, gzip, brotliCompress }
})
beforeEach(() => {
  compressed.times = 0
})

test.each([
  ['/', 'gzip'],
  ['/', 'br'],
  ['/api/v1/strips', 'gzip'],
])('%s is compressed by %s once for all requests until it changes', async (url, encoding) => {
  const endpoints = Array.from({ length: 20 }, (_, at) => ({ ...NODE, name: `node-${at}` }))
  const { server, world } = setUp({ networks: [{ network: network(), endpoints }] })
  await world.pollAll()
  const headers = { 'accept-encoding': encoding }

  const answers = await Promise.all(Array.from({ length: 20 }, () => server.inject({ url, headers })))
  answers.push(await server.inject({ url, headers }))

  expect(new Set(answers.map(({ rawPayload }) => rawPayload.toString('base64'))).size).toBe(1)
  expect(compressed.times).toBe(1)
  expect(new Set(answers.map((answer) => answer.headers['content-encoding']))).toEqual(new Set([encoding]))
})

test('a client that takes no compressed replies costs no compression', async () => {
  await setUp().server.inject({ url: '/', headers: { 'accept-encoding': 'identity' } })

  expect(compressed.times).toBe(0)
})

test('while two texts are compressed, others are sent as they are, and later ones compressed again', async () => {
  const endpoints = Array.from({ length: 20 }, (_, at) => ({ ...NODE, name: `node-${at}` }))
  const { server, world } = setUp({ networks: [{ network: network(), endpoints }] })
  await world.pollAll()
  const ask = (n: number) => server.inject({ url: `/api/v1/strips?hours=${n}`, headers: { 'accept-encoding': 'gzip' } })
  compressed.isHeld = true

  const first = [ask(20), ask(21)]
  await expect.poll(() => compressed.held.length).toBe(2)
  const third = await ask(22)
  compressed.isHeld = false
  for (const go of compressed.held.splice(0)) go()
  const others = [...(await Promise.all(first)), await ask(23)]

  expect(third.headers['content-encoding']).toBeUndefined()
  expect(third.headers.vary).toContain('Accept-Encoding')
  expect(third.json()).toHaveProperty('strips')
  expect(others.map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', 'gzip', 'gzip'])
})
