import { afterAll } from 'vitest'
import { type Anvil, startAnvil } from '../../support/anvil.ts'
import { type Daemon, removeFolder, startDaemonHere } from '../../support/daemon.ts'

export const ID = 'wallet-0123456789abcdef'
export const OPERATOR = 'operator-0123456789abcdef'
export const WRONG = 'stranger-0123456789abcdef'

export interface ClientSetting {
  readonly daemon: Daemon
  /** Where the gateway listens, without a slash at its end. */
  readonly gateway: string
  /** What a user gives to a client: the network's base URL and the endpoint_id. */
  base(network: string, id?: string): string
}

/** The whole daemon with its gateway over these networks, for all tests of a file. */
export async function startGateway(networks: readonly object[], { admin = false } = {}): Promise<ClientSetting> {
  const daemon = await startDaemonHere({
    poll: { interval: '1s', timeout: '1s' },
    networks,
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      admin,
      callers: [
        { name: 'wallet', endpoint_id: ID },
        { name: 'hurried', endpoint_id: `hurried-${ID}`, rate_limit: { requests: 1, per: '1s' } },
        { name: 'operator', endpoint_id: OPERATOR, admin: true },
      ],
    },
  })
  afterAll(async () => {
    await daemon.stop()
    removeFolder(daemon.folder)
  })
  const gateway = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1]
  if (gateway === undefined) throw new Error('no gateway')
  return { daemon, gateway, base: (network, id = ID) => `${gateway}/${network}/${id}` }
}

export interface AnvilSetting extends ClientSetting {
  readonly anvil: Anvil
  /** Of a transaction in block 2. */
  readonly transaction: `0x${string}`
}

/** A real Ethereum node with a few blocks, and the gateway before it. */
export async function startOverAnvil(): Promise<AnvilSetting> {
  const anvil = await startAnvil()
  afterAll(() => anvil.stop())
  const [from, to] = (await anvil.call('eth_accounts')) as [string, string]
  await anvil.mine()
  const transaction = (await anvil.call('eth_sendTransaction', [{ from, to, value: '0xde0b6b3a7640000' }])) as string
  for (let block = 0; block < 3; block++) await anvil.mine()
  const endpoints = [{ name: 'own-1', url: anvil.url }]
  const network = { name: 'ethereum', family: 'ethereum', chain_id: 31_337, block_time: '12s', endpoints }
  return { anvil, transaction: transaction as `0x${string}`, ...(await startGateway([network])) }
}
