import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Family } from '../../src/core/network.ts'
import { setting as forwarding, startBareNode } from './nodes.ts'
import { type Answer, ask, call, ID, post, set } from './setting.ts'

const answersOf = (family: Family) =>
  readdirSync(new URL(`../answers/${family}/`, import.meta.url))
    // That one answers a GET, which the gateway has no route for.
    .filter((name) => name !== 'health-unhealthy-get.json')
    .map((name): [string, string] => [
      name,
      readFileSync(new URL(`../answers/${family}/${name}`, import.meta.url), 'utf8'),
    ])

/** Asks the gateway for what a node answers with exactly these bytes but for the id, which is the gateway's own. */
async function through(family: Family, recorded: string, asking: (url: string) => Promise<Answer>): Promise<Answer> {
  const node = await startBareNode(({ id }, response) => {
    const status = recorded.includes('"internal_issue"') ? 500 : recorded.includes('"bad_request"') ? 400 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(recorded.replace('"id": 1', `"id": ${id}`))
  })
  const { forwarder } = await forwarding({ a: node }, { network: { name: family, family } })
  const { url } = await set({ answer: (question) => forwarder.handle(question) })
  return asking(`${url}/${family}/${ID}`)
}

const memberIn = (recorded: string) => /"(result|error)": ([^]*)\n\}\s*$/.exec(recorded) ?? []
const numberIn = (recorded: string) => /"number": "(\w+)"/.exec(recorded)?.[1] ?? '0x1'
const hashIn = (recorded: string) => /"hash": "(\w{64})"/.exec(recorded)?.[1] ?? '8e1c'.repeat(16)

test.each(answersOf('ethereum'))('what an Ethereum node answered (%s) arrives byte for byte', async (_, recorded) => {
  const [, member, value] = memberIn(recorded)

  const { status, text } = await through('ethereum', recorded, (url) =>
    post(url, call('eth_getBlockByNumber', [numberIn(recorded), false], 'mine')),
  )

  expect([status, text]).toEqual([200, `{"jsonrpc":"2.0","id":"mine","${member}":${value}}`])
})

test.each(answersOf('avalanche'))(
  'what an Avalanche node answered (%s) arrives byte for byte',
  async (name, recorded) => {
    const [, member, value] = memberIn(recorded)

    const { status, text } = await through('avalanche', recorded, (url) =>
      name.startsWith('block')
        ? post(`${url}/ext/bc/C/rpc`, call('eth_getBlockByNumber', [numberIn(recorded), false], 'mine'))
        : post(`${url}/ext/health`, call('health.getLiveness', undefined, 'mine')),
    )

    expect([status, text]).toEqual([200, `{"jsonrpc":"2.0","id":"mine","${member}":${value}}`])
  },
)

test.each(answersOf('multiversx').filter(([name]) => name !== 'error-system-busy.json'))(
  'what a MultiversX proxy answered (%s) arrives byte for byte, with its status',
  async (name, recorded) => {
    const rest = name.startsWith('network') ? '/network/status/1' : `/block/1/by-hash/${hashIn(recorded)}`

    const { status, text } = await through('multiversx', recorded, (url) => ask(`${url}${rest}`))

    expect(text).toBe(recorded)
    expect(status).toBe(name === 'error-shard.json' ? 400 : name.startsWith('error') ? 500 : 200)
  },
)

test.each(['1', '-1', '9007199254740993', '1.0e2', '"\\u0069d"', '"ключ"', 'null'])(
  'numbers beyond 2^53, members twice, white space and escapes inside a result survive under the id %s',
  async (id) => {
    const result =
      '{ "nonce": 18446744073709551615,\t"a":1,"a":2, "\\u0061":"\\ud83d\\ude00 ü", "e":1E400, "id":7, "result":{"error":null} }'
    const recorded = `{"jsonrpc":"2.0", "id": 1, "result": ${result}\n}`

    const { text } = await through('ethereum', recorded, (url) =>
      post(url, `{"jsonrpc":"2.0","id":${id},"method":"eth_getTransactionByHash","params":["0x${'ab'.repeat(32)}"]}`),
    )

    expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
  },
)
