import { expect, test } from 'vitest'
import { startAnvil } from './anvil.ts'

test('two anvils of one genesis agree, differ when one is reorganised, and agree after a rollback is mined again', async () => {
  const genesis = { timestamp: 1_790_000_000, chainId: 4242 }
  const [one, other] = await Promise.all([startAnvil(genesis), startAnvil(genesis)])
  const newest = async (anvil: typeof one) =>
    (await anvil.call('eth_getBlockByNumber', ['latest', false])) as { hash: string }

  await one.mine(10)
  await other.mine(4)
  await other.mine(6)
  const alike = [await newest(one), await newest(other)]
  await other.rollback(3)
  const rolledBack = await other.height()
  await other.mine(3)
  const again = await newest(other)
  await other.reorg(2)
  const reorganised = [await other.height(), (await newest(other)).hash]
  const chainId = await one.call('eth_chainId')
  await Promise.all([one.stop(), other.stop()])

  expect(alike[1]).toEqual(alike[0])
  expect(rolledBack).toBe(7)
  expect(again.hash).toBe(alike[0]?.hash)
  expect(reorganised).toEqual([10, expect.not.stringMatching(again.hash)])
  expect(chainId).toBe('0x1092')
})
