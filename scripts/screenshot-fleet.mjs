import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const TITLES = [
  'Ethereum',
  'Base',
  'Arbitrum One',
  'OP Mainnet',
  'Polygon PoS',
  'Gnosis',
  'Linea',
  'Scroll',
  'Celo',
  'Mantle',
  'Blast',
  'Sonic',
]
const FAULTS = {
  'ethereum/own-03': { kind: 'lag', blocks: 7, gradual: false },
  'arbitrum-one/own-07': { kind: 'http', status: 503 },
  'arbitrum-one/own-19': { kind: 'http', status: 503 },
}

/** Three hundred simulated nodes in twelve networks, three of which have a fault, and a daemon in this process that monitors them. */
export async function startFleet() {
  // Imported late: they are built by then.
  const load = (path) => import(join(root, 'dist/modules/src', path))
  const [
    { systemClock },
    { createChain },
    { startSimulatedNode },
    { configFromObject },
    { startDaemon },
    { createLogger },
  ] = await Promise.all(
    ['clock.js', 'simulator/chain.js', 'simulator/node.js', 'config/load.js', 'daemon/daemon.js', 'log.js'].map(load),
  )
  const nodes = []
  const networks = []
  for (const title of TITLES) {
    const name = title.toLowerCase().replaceAll(' ', '-')
    const chain = createChain({ clock: systemClock, seed: name, blockTimeMs: 3000, shards: [null] })
    const endpoints = []
    for (let at = 1; at <= 25; at++) {
      const endpoint = `own-${String(at).padStart(2, '0')}`
      const node = await startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name: endpoint })
      const fault = FAULTS[`${name}/${endpoint}`]
      if (fault !== undefined) node.inject(fault)
      nodes.push(node)
      endpoints.push({ name: endpoint, url: node.url })
    }
    networks.push({ name, title, family: 'ethereum', block_time: '3s', endpoints })
  }
  const path = join(tmpdir(), `heartline-fleet-${process.pid}.db`)
  const file = { server: { listen: '127.0.0.1:0' }, store: { path }, poll: { interval: '5s' }, networks }
  const loaded = configFromObject(file, tmpdir(), {}, { logLevel: 'error' })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const daemon = await startDaemon({ config: loaded.config, log: await createLogger(loaded.config.log) })
  return {
    url: daemon.url,
    faults: Object.keys(FAULTS).length,
    async stop() {
      await daemon.stop()
      await Promise.all(nodes.map((node) => node.stop()))
      for (const end of ['', '-wal', '-shm', '.lock', '.reserve']) rmSync(`${path}${end}`, { force: true })
    },
  }
}
