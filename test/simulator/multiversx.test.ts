import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.ts'
import { startNode } from './ask.ts'

const get = async (url: string) => {
  const response = await fetch(url)
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

describe('a simulated multiversx node', () => {
  test.each([0, 1, 2, 4_294_967_295])(
    'a proxy serves shard %i: status, block by nonce, the same by hash',
    async (shard) => {
      const node = await startNode(createFakeClock(), { family: 'multiversx' })

      const status = await get(`${node.url}/network/status/${shard}`)
      const nonce = status.body.data.status.erd_nonce
      const byNonce = await get(`${node.url}/block/${shard}/by-nonce/${nonce}`)
      const byHash = await get(`${node.url}/block/${shard}/by-hash/${byNonce.body.data.block.hash}?withTxs=true`)

      expect(nonce).toBe(node.height(shard))
      expect(byNonce.body).toMatchObject({ code: 'successful', error: '', data: { block: { nonce, shard } } })
      expect(byHash.body).toEqual(byNonce.body)
      expect(status.body.data.status.erd_highest_final_nonce).toBe(nonce - 1)
    },
  )

  test('an observer has no shard in its paths, and a status of its own', async () => {
    const node = await startNode(createFakeClock(), { family: 'multiversx', kind: 'observer', shard: 2 })

    const status = await get(`${node.url}/network/status`)
    const nonce = status.body.data.status.erd_nonce
    const block = await get(`${node.url}/block/by-nonce/${nonce}`)

    expect(nonce).toBe(node.height(2))
    expect(block.body.data.block.shard).toBe(2)
    expect((await get(`${node.url}/node/status`)).body.data.metrics).toMatchObject({
      erd_nonce: nonce,
      erd_shard_id: 2,
    })
    expect((await get(`${node.url}/network/status/2`)).status).toBe(404)
  })

  test.each([
    ['/network/status/x', 400, 'bad_request', 'cannot parse shard ID'],
    ['/network/status/4294967296', 400, 'bad_request', 'cannot parse shard ID'],
    ['/network/status/7', 500, 'internal_issue', 'sending request error'],
    ['/block/0/by-nonce/-1', 400, 'bad_request', 'cannot parse nonce'],
    ['/block/0/by-hash/xyz', 400, 'bad_request', 'invalid block hash parameter'],
    ['/block/0/by-hash/00ff', 500, 'internal_issue', 'getting block failed'],
    ['/block/0/by-nonce/99999999999', 500, 'internal_issue', 'getting block failed'],
    ['/block/0/by-nonce/1?withTxs=maybe', 400, 'bad_request', 'bad url parameter(s)'],
  ])('%s is %i %s', async (path, status, code, error) => {
    const node = await startNode(createFakeClock(), { family: 'multiversx' })

    const answer = await get(`${node.url}${path}`)

    expect(answer).toMatchObject({ status, body: { data: null, code, error: expect.stringContaining(error) } })
  })

  test('what it does not know is 404 in plain text', async () => {
    const node = await startNode(createFakeClock(), { family: 'multiversx' })

    expect(await get(`${node.url}/nothing`)).toEqual({ status: 404, body: '404 page not found' })
  })

  test('a shard can stall while the others go on', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'multiversx' })
    const before = [node.height(0), node.height(1)]

    node.inject({ kind: 'stall', shard: 1 })
    await clock.advance(20_000)

    expect([node.height(0), node.height(1)]).toEqual([(before[0] ?? 0) + 10, before[1]])
  })
})
