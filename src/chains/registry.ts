import type { Family } from '../core/network.ts'
import { avalanche } from './avalanche.ts'
import type { Chain } from './chain.ts'
import { ethereum } from './ethereum.ts'
import { multiversx } from './multiversx.ts'

/** Every supported family. */
export const chains: Readonly<Record<Family, Chain>> = { ethereum, avalanche, multiversx }
