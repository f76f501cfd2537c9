import { describe, expect, test } from 'vitest'
import type { Need, Operation } from '../../src/core/routing/operation.ts'
import { textOf } from './chain.ts'
import { ALIAS, type Answering, sayError, setting, startBareNode } from './nodes.ts'

const FALLBACK = { endpoints: { b: { tier: 'fallback' } } } as const
const NOT_FOUND = sayError(-32_601, 'the method eth_getProof does not exist/is not available')

const extra = (method: string, over: Partial<Operation> = {}, need: Need = { kind: 'any' }) => ({
  operation: { name: 'other', need, isRead: true, absenceIsDoubtful: false, ...over } as const,
  call: { id: '7', isNotification: false, method, params: '[]' },
})
const PROOF = extra('eth_getProof')

describe('an error that does not say that the request is wrong', () => {
  const toNobody =
    (code: number): Answering =>
    (_, response) =>
      void response.end(`{"jsonrpc":"2.0","id":null,"error":{"code":${code},"message":"no"}}`)

  test.each([-32_700, -32_600, -32_602, -32_000])(
    'is not final for a read: the next endpoint is tried (%i)',
    async (code) => {
      const a = await startBareNode(toNobody(code))
      const b = await startBareNode(() => 'from b')
      const { ask } = await setting({ a, b }, FALLBACK)

      expect(await ask()).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 2 })
    },
  )

  test('is passed on when everybody says so, and opens no breaker: what was asked may be to blame', async () => {
    const a = await startBareNode(toNobody(-32_602))
    const b = await startBareNode(toNobody(-32_600))
    const { ask, forwarder } = await setting({ a, b }, FALLBACK)

    for (let i = 0; i < 10; i++) {
      expect(textOf(await ask())).toBe('{"code":-32602,"message":"no"}')
    }

    expect(forwarder.overview('ethereum').map(({ breaker }) => breaker)).toEqual(['closed', 'closed'])
  })

  test('is the answer to what is sent once', async () => {
    const a = await startBareNode(toNobody(-32_600))
    const b = await startBareNode(() => ({}))
    const { ask } = await setting({ a, b }, FALLBACK)

    expect(await ask(ALIAS)).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 1 })
    expect(b.asked).toHaveLength(0)
  })
})

describe('a node that has no such method', () => {
  test.each<[string, Answering]>([
    ['geth', NOT_FOUND],
    ['EIP-1474', sayError(-32_004, 'method not supported')],
    ['avalanchego', sayError(-32_000, 'rpc: can\'t find method \\"health.GetLiveness\\"')],
  ])('is tried once, and then not before endpoints that may have it: %s', async (_, answering) => {
    const a = await startBareNode(answering)
    const b = await startBareNode(() => 'proof')
    const { ask } = await setting({ a, b }, FALLBACK)

    expect(await ask(PROOF)).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 2 })
    for (let i = 0; i < 5; i++) expect(await ask(PROOF)).toMatchObject({ endpoint: 'b', attempts: 1 })

    expect(a.asked).toHaveLength(1)
  })

  test('on another chain behind an alias is used for this method on its own chain as before', async () => {
    const a = await startBareNode((asked, response) =>
      asked.path === '/ext/subnet/rpc' ? NOT_FOUND(asked, response) : 'from a',
    )
    const b = await startBareNode(() => 'from b')
    const { ask } = await setting({ a, b }, FALLBACK)
    const behindAlias = extra('eth_getProof', { name: 'alias' }, { kind: 'endpoint', endpoint: 'a' })

    const other = await ask({ ...behindAlias, to: { kind: 'path', path: '/ext/subnet/rpc' } })
    const own = await ask(PROOF)

    expect(textOf(other)).toContain('-32601')
    expect([textOf(own), own.endpoint]).toEqual(['"from a"', 'a'])
  })

  test('is used for everything else as before', async () => {
    const a = await startBareNode((asked, response) =>
      asked.method === 'eth_getProof' ? NOT_FOUND(asked, response) : 'from a',
    )
    const b = await startBareNode(() => 'from b')
    const { ask } = await setting({ a, b }, FALLBACK)
    await ask(PROOF)

    expect(await ask(extra('eth_getCode'))).toMatchObject({ endpoint: 'a', attempts: 1 })
    expect(await ask()).toMatchObject({ endpoint: 'a', attempts: 1 })
  })

  test('passes the error on at once where no endpoint has the method', async () => {
    const a = await startBareNode(NOT_FOUND)
    const b = await startBareNode(sayError(-32_601, 'Method not found'))
    const { ask } = await setting({ a, b }, FALLBACK)

    const first = await ask(PROOF)
    const second = await ask(PROOF)

    expect(first).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 2 })
    expect(second).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 1 })
    expect(textOf(first)).toContain('-32601')
  })

  test('takes nothing from what failing over may cost, whatever callers ask for', async () => {
    const a = await startBareNode(NOT_FOUND)
    const b = await startBareNode(() => 'from b')
    const { ask, retries } = await setting({ a, b }, FALLBACK)

    for (let i = 0; i < 100; i++) await ask(extra(`eth_getNonsense${i}`))
    expect(new Set(retries)).toEqual(new Set(['absent']))
    await a.stop()

    for (let i = 0; i < 5; i++) expect(await ask()).toMatchObject({ kind: 'result', endpoint: 'b' })
  })

  test('is passed over by what is sent only once as well, the next time', async () => {
    const a = await startBareNode(sayError(-32_601, 'Method not found'))
    const b = await startBareNode(() => '0xhash')
    const { ask } = await setting({ a, b }, FALLBACK)
    const send = extra('eth_sendRawTransaction', { isRead: false })

    expect(await ask(send)).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 1 })
    expect(await ask(send)).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 1 })
  })
})
