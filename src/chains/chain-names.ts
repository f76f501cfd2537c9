import type { Family } from '../core/network.ts'

/** What a first configuration calls the network of a chain: well-known ones by their names, others by family and id. */
export function chainNames(family: Family, chain: string): { readonly name: string; readonly title: string } {
  const known = family === 'multiversx' ? MULTIVERSX_CHAINS : EVM_CHAINS
  const otherName = `${family}-${chain.toLowerCase().replace(/[^a-z0-9]/g, '-')}`
  const [name, title] = known.get(chain) ?? [otherName, `${family} chain ${chain}`]
  return { name, title }
}

type ChainNames = ReadonlyMap<string, readonly [name: string, title: string]>

const EVM_CHAINS: ChainNames = new Map([
  ['1', ['ethereum', 'Ethereum']],
  ['10', ['optimism', 'OP Mainnet']],
  ['56', ['bnb', 'BNB Smart Chain']],
  ['100', ['gnosis', 'Gnosis Chain']],
  ['137', ['polygon', 'Polygon']],
  ['8453', ['base', 'Base']],
  ['42161', ['arbitrum', 'Arbitrum One']],
  ['43113', ['avalanche-fuji', 'Avalanche Fuji C-Chain']],
  ['43114', ['avalanche', 'Avalanche C-Chain']],
  ['560048', ['hoodi', 'Hoodi']],
  ['11155111', ['sepolia', 'Sepolia']],
])
const MULTIVERSX_CHAINS: ChainNames = new Map([
  ['1', ['multiversx', 'MultiversX']],
  ['D', ['multiversx-devnet', 'MultiversX devnet']],
  ['T', ['multiversx-testnet', 'MultiversX testnet']],
])
