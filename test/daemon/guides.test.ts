import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { MULTIVERSX_SHARDS } from '../../src/simulator/multiversx.ts'
import { type NodeOptions, startSimulatedNode } from '../../src/simulator/node.ts'
import { removeFolder, runHeartline, temporaryFolder } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'

interface GuideEndpoint {
  readonly name: string
  readonly kind?: 'proxy' | 'observer'
  readonly shard?: number
}

interface GuideNetwork {
  readonly name: string
  readonly family: 'ethereum' | 'avalanche' | 'multiversx'
  readonly endpoints: readonly GuideEndpoint[]
}

/** The first whole configuration of a guide. */
function configurationOf(guide: string): { networks: readonly GuideNetwork[] } {
  const page = readFileSync(join(checkout, 'docs/guides', `${guide}.md`), 'utf8')
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text!)
  return parse(blocks.find((text) => /^networks:/m.test(text))!) as { networks: readonly GuideNetwork[] }
}

function kindOf({ family }: GuideNetwork, { kind = 'proxy', shard = 0 }: GuideEndpoint): NodeOptions['kind'] {
  switch (family) {
    case 'ethereum':
      return { family }
    case 'avalanche':
      return { family, generation: 'new', adminEnabled: false }
    case 'multiversx':
      return { family, kind, shard }
  }
}

/** The networks with a simulated node in the place of every endpoint. */
async function simulated(networks: readonly GuideNetwork[]): Promise<object[]> {
  return Promise.all(
    networks.map(async (network) => {
      const shards = network.family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
      const chain = createChain({ clock: systemClock, seed: network.name, blockTimeMs: 12_000, shards })
      const endpoints = await Promise.all(
        network.endpoints.map(async (endpoint) => {
          const kind = kindOf(network, endpoint)
          const node = await startSimulatedNode({ clock: systemClock, chain, kind, name: endpoint.name })
          onTestFinished(() => node.stop())
          return { ...endpoint, url: node.url }
        }),
      )
      return { ...network, endpoints }
    }),
  )
}

test.each(['own-avalanche-node', 'providers-endpoints', 'multiversx-observers', 'gateway-in-front'])(
  'who follows the guide "%s" finds every node well',
  async (guide) => {
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    const written = configurationOf(guide)
    const config = JSON.stringify({ ...written, networks: await simulated(written.networks) })
    writeFileSync(join(folder, 'heartline.yaml'), config)
    writeFileSync(join(folder, 'provider-b.key'), 'a-key')
    const env = Object.fromEntries(
      [...config.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name!, `of-${name!}-enough`]),
    )

    const { status, out, err } = await runHeartline(['probe', '-c', 'heartline.yaml'], { cwd: folder, env })

    expect(err).toBe('')
    expect(out.trim().split('\n')).toHaveLength(1 + written.networks.flatMap(({ endpoints }) => endpoints).length)
    expect({ status, out }).toMatchObject({ status: 0 })
  },
  60_000,
)
