import {
  BlockNotFoundError,
  createPublicClient,
  http,
  LimitExceededRpcError,
  MethodNotFoundRpcError,
  TransactionNotFoundError,
} from 'viem'
import { foundry } from 'viem/chains'
import { describe, expect, test } from 'vitest'
import { startOverAnvil, WRONG } from './support.ts'

const { anvil, base, transaction, daemon } = await startOverAnvil()
const through = createPublicClient({ chain: foundry, transport: http(base('ethereum')) })
const directly = createPublicClient({ chain: foundry, transport: http(anvil.url) })
const NOWHERE = `0x${'ab'.repeat(32)}` as const

const requests = async () =>
  Number(
    /heartline_gateway_requests_total\{[^}]*operation="none",caller="wallet"[^}]*\} (\d+)/.exec(
      (await daemon.get('/metrics')).text,
    )?.[1] ?? 0,
  )

describe('viem sees through the gateway what the node shows', () => {
  test('the chain, and where it is', async () => {
    expect(await through.getChainId()).toBe(31_337)
    expect(await through.getBlockNumber()).toBe(await directly.getBlockNumber())
  })

  test.each([
    {},
    { blockTag: 'latest' },
    { blockNumber: 2n },
    { blockNumber: 2n, includeTransactions: true },
    { blockTag: 'earliest' },
  ] as const)('a block, by %o', async (which) => {
    const block = await through.getBlock(which)

    expect(block).toEqual(await directly.getBlock(which))
    expect(block.hash).toMatch(/^0x[0-9a-f]{64}$/)
  })

  test('a transaction', async () => {
    const found = await through.getTransaction({ hash: transaction })

    expect(found).toEqual(await directly.getTransaction({ hash: transaction }))
    expect(found.value).toBe(10n ** 18n)
  })

  test('that there is no such block, and no such transaction', async () => {
    await expect(through.getBlock({ blockNumber: 999n })).rejects.toBeInstanceOf(BlockNotFoundError)
    await expect(through.getTransaction({ hash: NOWHERE })).rejects.toBeInstanceOf(TransactionNotFoundError)
  })

  test('many things in one batch, each its own', async () => {
    let bodies = 0
    const batching = createPublicClient({
      chain: foundry,
      transport: http(base('ethereum'), { batch: { batchSize: 50 }, onFetchRequest: () => void bodies++ }),
    })

    const answers = await Promise.all([
      batching.getChainId(),
      batching.getBlock({ blockNumber: 1n }),
      batching.getTransaction({ hash: transaction }),
      batching.getBlock({ blockNumber: 999n }).catch((error: unknown) => error),
      batching.getBalance({ address: `0x${'1'.repeat(40)}` }).catch((error: unknown) => error),
    ])

    expect(bodies).toBe(1)
    expect(answers.slice(0, 3)).toEqual([
      31_337,
      await directly.getBlock({ blockNumber: 1n }),
      await directly.getTransaction({ hash: transaction }),
    ])
    expect(answers[3]).toBeInstanceOf(BlockNotFoundError)
    expect((answers[4] as MethodNotFoundRpcError).walk((error) => error instanceof MethodNotFoundRpcError)).toBeTruthy()
  })
})

describe('viem reports', () => {
  test('that a method is not allowed, and does not ask again', async () => {
    const before = await requests()

    const failed = through.getBalance({ address: `0x${'1'.repeat(40)}` })

    await expect(failed).rejects.toSatisfy((error: { walk: (is: (error: unknown) => boolean) => unknown }) =>
      Boolean(error.walk((cause) => cause instanceof MethodNotFoundRpcError)),
    )
    expect(await requests()).toBe(before + 1)
  })

  test('that the endpoint_id is wrong, in words that do not repeat it to the node', async () => {
    const stranger = createPublicClient({ chain: foundry, transport: http(base('ethereum', WRONG), { retryCount: 0 }) })

    await expect(stranger.getBlockNumber()).rejects.toMatchObject({
      cause: { code: -32_099, message: expect.stringContaining('Authentication failed') },
    })
  })

  test('that it asks too often, and when it comes again it is answered', async () => {
    const url = base('ethereum', 'hurried-wallet-0123456789abcdef')
    const once = createPublicClient({ chain: foundry, transport: http(url, { retryCount: 0 }) })
    const patient = createPublicClient({ chain: foundry, transport: http(url, { retryCount: 5, retryDelay: 200 }) })
    expect(await once.getChainId()).toBe(31_337)

    await expect(once.getBlockNumber({ cacheTime: 0 })).rejects.toSatisfy(
      (error: { walk: (is: (error: unknown) => boolean) => unknown }) =>
        Boolean(error.walk((cause) => cause instanceof LimitExceededRpcError)),
    )
    expect(await patient.getBlockNumber({ cacheTime: 0 })).toBe(await directly.getBlockNumber())
  })
})
