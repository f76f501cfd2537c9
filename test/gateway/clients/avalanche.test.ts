import { Avalanche } from 'avalanche'
import { AdminAPI } from 'avalanche/dist/apis/admin/index.js'
import { EVMAPI } from 'avalanche/dist/apis/evm/index.js'
import { HealthAPI } from 'avalanche/dist/apis/health/index.js'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createChain } from '../../../src/simulator/chain.ts'
import { startSimulatedNode } from '../../../src/simulator/node.ts'
import { ID, OPERATOR, startGateway, WRONG } from './support.ts'

const chain = createChain({ clock: systemClock, seed: 'avalanche', blockTimeMs: 500 })
const kinds = [
  ['new', 'new-1', { family: 'avalanche', generation: 'new', adminEnabled: true }],
  ['old', 'old-1', { family: 'avalanche', generation: 'old', adminEnabled: true }],
] as const
const nodes = await Promise.all(
  kinds.map(([, name, kind]) => startSimulatedNode({ clock: systemClock, chain, kind, name })),
)
afterAll(async () => void (await Promise.all(nodes.map((node) => node.stop()))))
// Nodes before and after v1.6.1 know different health methods: each is a network of its own here.
const { gateway } = await startGateway(
  nodes.map(({ name, url }, at) => ({
    name: kinds[at]?.[0],
    family: 'avalanche',
    block_time: '500ms',
    endpoints: [{ name, url, rpc_path: '/ext/bc/C/rpc' }],
  })),
  { admin: true },
)

/** The client is given the path as its APIs' base URL: a host of its own would need a name in DNS. */
function clientOf(network: string, id: string = ID) {
  const { hostname, port } = new URL(gateway)
  const avalanche = new Avalanche(hostname, Number(port), 'http', 1, undefined, undefined, undefined, true)
  const base = `/${network}/${id}`
  avalanche.addAPI('health', HealthAPI, `${base}/ext/health`)
  avalanche.addAPI('admin', AdminAPI, `${base}/ext/admin`)
  return avalanche
}
const directTo = (at: number) => {
  const avalanche = new Avalanche('127.0.0.1', nodes[at]?.port ?? 0, 'http', 1, undefined, undefined, undefined, true)
  avalanche.addAPI('health', HealthAPI)
  return avalanche
}
const chainAt = (path: string) => {
  const { hostname, port } = new URL(gateway)
  return new EVMAPI(new Avalanche(hostname, Number(port), 'http', 1, undefined, undefined, undefined, true), path)
}

describe('Health.getLiveness', () => {
  test('is answered by the node: without params, and with the content type that this client sends', async () => {
    const through = (await clientOf('old').Health().getLiveness()) as { healthy: boolean; checks: object }
    const directly = (await directTo(1).Health().getLiveness()) as { healthy: boolean; checks: object }

    expect(through.healthy).toBe(true)
    expect(Object.keys(through.checks)).toEqual(Object.keys(directly.checks))
    expect(Object.keys(through.checks)).toContain('network.validators.heartbeat')
  })

  test('says in the node’s own words that a node of today has no such method', async () => {
    const [through, directly] = await Promise.all(
      [clientOf('new'), directTo(0)].map((client) =>
        client
          .Health()
          .getLiveness()
          .catch((error: Error) => error.message),
      ),
    )

    expect(through).toMatch(/can't find method/)
    expect(through).toBe(directly)
  })
})

describe('Admin.alias', () => {
  test.each(['new', 'old'])(
    'of a node (%s) succeeds, and a call through the alias reaches the chain',
    async (network) => {
      const alias = `mine-${network}`
      expect(await clientOf(network, OPERATOR).Admin().alias('bc/C', alias)).toBe(true)

      const answers = await Promise.all(
        [`/${network}/${ID}/ext/${alias}/rpc`, `/${network}/${ID}/ext/bc/C/rpc`].map((path) =>
          chainAt(path).callMethod('eth_chainId', []),
        ),
      )

      expect(answers.map(({ data }) => data.result)).toEqual(['0xa86a', '0xa86a'])
    },
  )

  test('of a caller who may not is refused', async () => {
    await expect(clientOf('new').Admin().alias('bc/C', 'yours')).rejects.toMatchObject({ response: { status: 403 } })
  })

  test('that is too long is refused in words that the client shows', async () => {
    await expect(clientOf('new', OPERATOR).Admin().alias('bc/C', 'x'.repeat(513))).rejects.toThrow(/alias/)
  })
})

test('a wrong endpoint_id is reported as such', async () => {
  await expect(clientOf('old', WRONG).Health().getLiveness()).rejects.toMatchObject({
    response: { status: 401, data: { error: { code: -32_099, message: 'Authentication failed' } } },
  })
})
