import type { Family } from '../core/network.ts'
import { avalanche } from './avalanche.ts'
import type { Chain } from './chain.ts'
import { ethereum } from './ethereum.ts'
import { multiversx } from './multiversx.ts'

/** Every family. A new one starts at `Family` in core/network.ts; CONTRIBUTING.md lists the files in order. */
export const chains: Readonly<Record<Family, Chain>> = { ethereum, avalanche, multiversx }
