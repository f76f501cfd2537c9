import { type Clock, systemClock } from '../clock.ts'
import type { Family } from '../core/network.ts'
import { createChain } from '../simulator/chain.ts'
import { MULTIVERSX_SHARDS } from '../simulator/multiversx.ts'
import { type NodeOptions, startSimulatedNode } from '../simulator/node.ts'
import { type CommandIo, EXIT } from './io.ts'

export interface SimulateOptions {
  readonly family: Family
  /** 0 means any free port. */
  readonly port: number
  /** Also seeds the faults, so that nodes with different names fail differently. */
  readonly endpointName?: string | undefined
  readonly blockTimeMs?: number | undefined
  /** Nodes with the same seed and block time share a chain, also across processes. */
  readonly seed?: string | undefined
  readonly chainId?: number | undefined
  /** Avalanche: `old` answers like versions before 1.2.1. */
  readonly generation?: 'old' | 'new' | undefined
  /** Avalanche: interval of the node's own health checks. */
  readonly checkEveryMs?: number | undefined
  /** Avalanche: whether `/ext/admin` exists. */
  readonly adminEnabled?: boolean | undefined
  /** MultiversX. */
  readonly kind?: 'proxy' | 'observer' | undefined
  /** MultiversX: the shard that an observer serves. */
  readonly shard?: number | undefined
}

const A_DAY_MS = 86_400_000
const BLOCK_TIMES_MS: Record<Family, number> = { ethereum: 12_000, avalanche: 2000, multiversx: 6000 }

/** Runs one simulated node until the signal aborts, for example to rehearse alerts. */
export async function simulate(
  options: SimulateOptions,
  io: Pick<CommandIo, 'out' | 'err' | 'signal'>,
  clock: Clock = systemClock,
): Promise<number> {
  const { family, port, endpointName = 'own-1', seed = family } = options
  const unused = unusedOption(options)
  if (unused !== null) {
    io.err(`heartline simulate: ${unused}`)
    return EXIT.usage
  }
  const blockTimeMs = options.blockTimeMs ?? BLOCK_TIMES_MS[family]
  const shards = family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
  const chain = createChain({ clock, seed, blockTimeMs, shards })
  const started = await startSimulatedNode({ clock, chain, kind: kindOf(options), name: endpointName, port }).catch(
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  if (started instanceof Error) {
    io.err(`heartline simulate: cannot listen on port ${port}: ${started.message}`)
    return EXIT.software
  }
  io.out(`${endpointName}: a simulated ${family} node`)
  io.out(`  url      ${started.url}`)
  io.out(`  control  ${started.controlUrl}`)
  // Keeps the process alive while a fault closes the port.
  while (!io.signal.aborted) await clock.sleep(A_DAY_MS, io.signal)
  await started.stop()
  return EXIT.ok
}

/** Why an option would change nothing; `null` if all of them have an effect. */
function unusedOption(options: SimulateOptions): string | null {
  const { family, kind, shard } = options
  const [other] = OF_FAMILIES.filter(([, key, families]) => options[key] !== undefined && !families.includes(family))
  if (other !== undefined) return `${other[0]} is for ${other[2].join(' and ')}, not for ${family}`
  return shard !== undefined && kind !== 'observer' ? '--shard needs --kind observer' : null
}

const OF_FAMILIES: readonly (readonly [option: string, key: keyof SimulateOptions, families: readonly Family[]])[] = [
  ['--chain-id', 'chainId', ['ethereum', 'avalanche']],
  ['--generation', 'generation', ['avalanche']],
  ['--check-every', 'checkEveryMs', ['avalanche']],
  ['--api-admin-enabled', 'adminEnabled', ['avalanche']],
  ['--kind', 'kind', ['multiversx']],
  ['--shard', 'shard', ['multiversx']],
]

function kindOf(options: SimulateOptions): NodeOptions['kind'] {
  const { family, chainId, generation, checkEveryMs, adminEnabled, kind, shard } = options
  switch (family) {
    case 'ethereum':
      return { family, chainId }
    case 'avalanche':
      return { family, chainId, generation, checkEveryMs, adminEnabled }
    case 'multiversx':
      return { family, kind, shard }
  }
}
