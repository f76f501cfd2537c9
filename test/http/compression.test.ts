import { beforeEach, expect, test, vi } from 'vitest'
import { network } from '../support/network.ts'
import { NODE, setUp } from './setting.ts'

const compressed = vi.hoisted(() => ({ times: 0 }))
vi.mock('node:zlib', async (original) => {
  const zlib = await original<typeof import('node:zlib')>()
  const gzip = (...args: Parameters<typeof zlib.gzip>) => {
    compressed.times++
    zlib.gzip(...args)
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
