import { FetchRequest, JsonRpcProvider, Network } from 'ethers'
import { afterAll, describe, expect, test } from 'vitest'
import { ID, startOverAnvil, WRONG } from './support.ts'

const { anvil, base, transaction } = await startOverAnvil()
const providers: JsonRpcProvider[] = []
afterAll(() => providers.forEach((provider) => provider.destroy()))

function providerOf(url: string, options: ConstructorParameters<typeof JsonRpcProvider>[2] = {}): JsonRpcProvider {
  const request = new FetchRequest(url)
  // One answer is enough: otherwise ethers retries for up to a minute.
  request.setThrottleParams({ maxAttempts: 1 })
  const provider = new JsonRpcProvider(request, undefined, options)
  providers.push(provider)
  return provider
}

describe.each([
  ['by itself, which begins with eth_chainId and batches', {}],
  ['on a static network', { staticNetwork: Network.from(31_337) }],
  ['without batches', { batchMaxCount: 1 }],
] as const)('ethers %s sees through the gateway what the node shows', (_, options) => {
  const through = providerOf(base('ethereum'), options)
  const directly = providerOf(anvil.url, options)

  test('the network', async () => {
    expect((await through.getNetwork()).chainId).toBe(31_337n)
    expect(await through.getBlockNumber()).toBe(await directly.getBlockNumber())
  })

  test.each(['latest', 2, 'earliest'])('block %j', async (which) => {
    const block = await through.getBlock(which, true)

    expect(block?.toJSON()).toEqual((await directly.getBlock(which, true))?.toJSON())
    expect(block?.hash).toMatch(/^0x[0-9a-f]{64}$/)
  })

  test('a transaction', async () => {
    const found = await through.getTransaction(transaction)

    expect(found?.toJSON()).toEqual((await directly.getTransaction(transaction))?.toJSON())
    expect(found?.value).toBe(10n ** 18n)
  })

  test('that something is not there', async () => {
    expect(await through.getBlock(999)).toBeNull()
    expect(await through.getTransaction(`0x${'ab'.repeat(32)}`)).toBeNull()
  })

  test('many things at once, each its own', async () => {
    const heights = Array.from({ length: 30 }, (_, at) => at % 5)

    const blocks = await Promise.all(heights.map((height) => through.getBlock(height)))

    expect(blocks.map((block) => block?.number)).toEqual(heights)
  })
})

describe('ethers reports', () => {
  const options = { staticNetwork: Network.from(31_337) }

  test('that the endpoint_id is wrong', async () => {
    const stranger = providerOf(base('ethereum', WRONG), options)

    await expect(stranger.getBlockNumber()).rejects.toMatchObject({
      code: 'SERVER_ERROR',
      message: expect.stringContaining('401'),
    })
  })

  test('that a method is not allowed: it is none that this network supports', async () => {
    const through = providerOf(base('ethereum'), options)

    await expect(through.getBalance(`0x${'1'.repeat(40)}`)).rejects.toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
      operation: 'eth_getBalance',
    })
  })

  test('that it asks too often', async () => {
    const hurried = providerOf(base('ethereum', `hurried-${ID}`), { ...options, batchMaxCount: 1 })

    const answers = await Promise.allSettled([hurried.getBlockNumber(), hurried.getBlock(1), hurried.getBlock(2)])

    const refused = answers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'SERVER_ERROR' })
  })
})
