import { execFileSync } from 'node:child_process'
import { systemClock } from '../../../src/clock.ts'
import { createChain } from '../../../src/simulator/chain.ts'
import { startSimulatedNode } from '../../../src/simulator/node.ts'
import { removeFolder, startDaemon, until } from '../../support/daemon.ts'

/**
 * Runs in a network namespace of its own: nodes, and a daemon that reaches them until the network with all its routes is taken
 * away, and when it is back. Prints what was seen, as one line of JSON. The page is on loopback, which stays.
 */
const HOSTS = ['10.77.0.2', '10.77.0.3', '10.77.0.4']

export interface Seen {
  readonly states: readonly string[]
  readonly reasons: readonly string[]
  readonly impaired: boolean
  readonly judging: boolean
  readonly stateChanges: number
  readonly incidentsOpen: number
}

function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] })
}

function connect(change: 'add' | 'del'): void {
  for (const host of HOSTS) ip('address', change, `${host}/32`, 'dev', 'lo')
}

ip('link', 'set', 'lo', 'up')
connect('add')

const chain = createChain({ clock: systemClock, seed: 'cut', blockTimeMs: 1000 })
const nodes = await Promise.all(
  HOSTS.map((host, at) =>
    startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name: `node-${at}`, host }),
  ),
)
// The daemon starts before the network is up.
connect('del')
const daemon = await startDaemon({
  poll: { interval: '1s' },
  networks: [
    { name: 'net', family: 'ethereum', block_time: '1s', endpoints: nodes.map(({ name, url }) => ({ name, url })) },
  ],
})

async function see(): Promise<Seen> {
  const { text } = await daemon.get('/metrics')
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^heartline_${name}(?:\\{[^\\n]*\\})? (\\S+)$`, 'gm'))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    )
  const { networks, observer } = await daemon.status()
  return {
    states: networks.flatMap(({ endpoints }) => endpoints.map(({ state }) => state)),
    ...observer,
    stateChanges: sum('endpoint_state_changes_total'),
    incidentsOpen: sum('incidents_open'),
  }
}

async function untilAll(state: string): Promise<Seen> {
  let seen = await see()
  await until(
    async () => {
      seen = await see()
      return seen.states.every((is) => is === state)
    },
    `everybody is ${state}: ${JSON.stringify(seen)}`,
  )
  return seen
}

try {
  await until(async () => (await see()).impaired, 'it notices that there is no network')
  await systemClock.sleep(3000)
  const early = await see()
  connect('add')
  await untilAll('up')
  connect('del')
  const cut = await untilAll('unknown')
  await systemClock.sleep(3000)
  const later = await see()
  connect('add')
  const back = await untilAll('up')
  process.stdout.write(`${JSON.stringify({ early, cut, later, back })}\n`)
} finally {
  await daemon.stop('SIGKILL')
  removeFolder(daemon.folder)
  await Promise.all(nodes.map((node) => node.stop()))
}
