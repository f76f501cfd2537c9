import { expect } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createChain, type SimulatedChain } from '../../../src/simulator/chain.ts'
import { MULTIVERSX_SHARDS } from '../../../src/simulator/multiversx.ts'
import { type SimulatedNode, startSimulatedNode } from '../../../src/simulator/node.ts'
import {
  type EndpointView,
  type RunningDaemon,
  removeFolder,
  type StatusView,
  startDaemon,
  until,
} from '../../support/daemon.ts'
import { freePort } from '../../support/free-port.ts'

/** Long enough that a healthy node on a busy machine does not miss two deadlines in a row. */
export const INTERVAL_MS = 1000
export const BLOCK_MS = 1000
const LOOK_EVERY_MS = 100
const PATIENCE_MS = 100_000

/** A daemon in a process of its own, and for each story a network of simulated nodes on a chain of its own. */
export interface Theatre {
  /** Resolves once every endpoint of this network is up. */
  stage(network: string): Promise<Stage>
  close(): Promise<void>
}

export interface Cast {
  readonly nodes: readonly string[]
  readonly family?: 'ethereum' | 'multiversx'
  readonly thresholds?: object
}

/** One network, and all that was said of it since everybody was up. */
export interface Stage {
  readonly chain: SimulatedChain
  node(name: string): SimulatedNode
  /** When the node was last asked for anything, by our clock. */
  askedAt(name: string): number
  until(holds: (look: Look) => boolean, what: string): Promise<Look>
  /** Lets each of these endpoints be polled so many times more. */
  polls(count: number, names?: readonly string[]): Promise<Look>
  /** All of this network since everybody was up, the newest first. */
  incidents(): Promise<readonly IncidentView[]>
  /**
   * These endpoints are up, and never visibly anything else, or under any condition;
   * no incident is theirs.
   */
  expectNeverAccused(...names: readonly string[]): Promise<void>
}

/** The status and the metrics of one network, of one moment as nearly as can be. */
export interface Look {
  readonly states: Readonly<Record<string, string>>
  endpoint(name: string): EndpointView
  conditions(name: string): readonly string[]
  /** The value of the series with this name, and these labels beside the network's; `null` where it is absent. */
  metric(name: string, labels?: Record<string, string>): number | null
}

export interface IncidentView {
  readonly id: string
  readonly endpoint: string | null
  readonly cause: string
  readonly state: string
  readonly opened_at: string
  readonly closed_at: string | null
  readonly conditions: readonly { readonly code: string }[]
}

/** What the daemon said last: everybody looks at the same, or looking would be most of the work. */
interface Sample {
  readonly status: StatusView
  readonly metrics: string
  readonly turn: number
}

export async function openTheatre(casts: Readonly<Record<string, Cast>>): Promise<Theatre> {
  const chains = new Map<string, SimulatedChain>()
  const nodes = new Map<string, SimulatedNode>()
  const askedAt = new Map<string, number>()
  const networks: object[] = []
  for (const [network, { nodes: names, family = 'ethereum', thresholds = {} }] of Object.entries(casts)) {
    const shards = family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
    const chain = createChain({ clock: systemClock, seed: network, blockTimeMs: BLOCK_MS, shards })
    chains.set(network, chain)
    const endpoints: object[] = []
    for (const name of names) {
      const key = `${network}/${name}`
      const onRequest = () => void askedAt.set(key, systemClock.now())
      const port = await freePort()
      const node = await startSimulatedNode({ clock: systemClock, chain, kind: { family }, name, port, onRequest })
      nodes.set(key, node)
      endpoints.push({ name, url: node.url })
    }
    networks.push({
      name: network,
      family,
      block_time: `${BLOCK_MS}ms`,
      thresholds: { stall: '3s', ...thresholds },
      endpoints,
    })
  }
  const daemon = await startDaemon({
    poll: { interval: `${INTERVAL_MS}ms`, timeout: `${INTERVAL_MS}ms` },
    networks,
  })

  const accused = new Set<string>()
  let sample = await take(daemon, 0)
  const closing = new AbortController()
  let trouble: unknown = null
  const watching = watch()

  async function watch(): Promise<void> {
    while (!closing.signal.aborted && trouble === null) {
      await systemClock.sleep(LOOK_EVERY_MS, closing.signal)
      try {
        sample = await take(daemon, sample.turn + 1)
      } catch (error) {
        trouble = new Error(`the daemon is gone:\n${daemon.log().slice(-2000)}`, { cause: error })
      }
      for (const { name: network, endpoints } of sample.status.networks) {
        for (const { name, conditions } of endpoints) {
          for (const { code } of conditions) accused.add(`${network}/${name} ${code}`)
        }
      }
    }
  }

  /** What is newer than what everybody has seen. */
  async function nextSample(after: number): Promise<Sample> {
    await until(() => closing.signal.aborted || trouble !== null || sample.turn > after, 'the daemon answers')
    if (trouble !== null) throw trouble
    return sample
  }

  function createStage(network: string): Omit<Stage, 'expectNeverAccused' | 'incidents'> & { look(): Promise<Look> } {
    const cast = casts[network]
    const chain = chains.get(network)
    if (cast === undefined || chain === undefined) throw new Error(`no network ${network}`)

    async function lookUntil(holds: (look: Look) => boolean, what: string): Promise<Look> {
      const end = performance.now() + PATIENCE_MS
      // Two samples on, the whole of it was asked for after now.
      let { turn } = await nextSample(sample.turn + 1)
      for (;;) {
        const now = await nextSample(turn)
        turn = now.turn
        const look = lookAt(now, network)
        if (holds(look)) return look
        if (performance.now() > end) {
          throw new Error(`not within ${PATIENCE_MS} ms: ${what}: ${JSON.stringify(look.states)}`)
        }
      }
    }

    return {
      chain,
      node(name) {
        const node = nodes.get(`${network}/${name}`)
        if (node === undefined) throw new Error(`no node ${name}`)
        return node
      },
      askedAt: (name) => askedAt.get(`${network}/${name}`) ?? 0,
      until: lookUntil,
      look: () => lookUntil(() => true, ''),
      async polls(count, of = cast.nodes) {
        const checks = ({ metric }: Look, name: string) =>
          metric('checks_total', { endpoint: name, check: 'head' }) ?? 0
        const before = await lookUntil(() => true, '')
        return lookUntil(
          (now) => of.every((name) => checks(now, name) >= checks(before, name) + count),
          `${count} more polls`,
        )
      },
    }
  }

  async function incidentsOf(network: string): Promise<readonly IncidentView[]> {
    const { text } = await daemon.get(`/api/v1/incidents?network=${network}`)
    return (JSON.parse(text) as { incidents: IncidentView[] }).incidents
  }

  return {
    async stage(network) {
      const stage = createStage(network)
      const changes = (name: string, { metric }: Look) => metric('endpoint_state_changes_total', { endpoint: name })
      const isWell = ({ states, conditions }: Look) =>
        Object.entries(states).every(([name, state]) => state === 'up' && conditions(name).length === 0)
      const first = await stage.until(isWell, 'all are up')
      for (const accusation of accused) if (accusation.startsWith(`${network}/`)) accused.delete(accusation)
      const begun = new Set((await incidentsOf(network)).map(({ id }) => id))
      const incidents = async () => (await incidentsOf(network)).filter(({ id }) => !begun.has(id))
      return {
        ...stage,
        incidents,
        async expectNeverAccused(...names) {
          const last = await stage.look()
          const opened = await incidents()
          for (const name of names) {
            const of = [...accused].filter((accusation) => accusation.startsWith(`${network}/${name} `))
            expect(of).toEqual([])
            expect(changes(name, last)).toBe(changes(name, first))
            expect(last.states[name]).toBe('up')
            expect(opened.filter(({ endpoint }) => endpoint === name)).toEqual([])
          }
        },
      }
    },

    async close() {
      closing.abort()
      await watching
      await daemon.stop('SIGKILL')
      removeFolder(daemon.folder)
      await Promise.all([...nodes.values()].map((node) => node.stop()))
    },
  }
}

async function take(daemon: RunningDaemon, turn: number): Promise<Sample> {
  const [status, { text }] = await Promise.all([daemon.status(), daemon.get('/metrics')])
  return { status, metrics: text, turn }
}

function lookAt({ status, metrics }: Sample, network: string): Look {
  const endpoints = status.networks.find(({ name }) => name === network)?.endpoints ?? []
  const endpoint = (name: string) => {
    const found = endpoints.find((candidate) => candidate.name === name)
    if (found === undefined) throw new Error(`no endpoint ${name}`)
    return found
  }
  return {
    states: Object.fromEntries(endpoints.map(({ name, state }) => [name, state])),
    endpoint,
    conditions: (name) => endpoint(name).conditions.map(({ code }) => code),
    metric: (name, labels = {}) => valueOf(metrics, name, { network, ...labels }),
  }
}

/** Of the first series of that name that has all these labels. */
function valueOf(exposition: string, name: string, labels: Record<string, string>): number | null {
  for (const line of exposition.split('\n')) {
    if (!line.startsWith(`heartline_${name}{`)) continue
    const [series = '', value = ''] = line.split('} ')
    if (Object.entries(labels).every(([label, is]) => series.includes(`${label}="${is}"`))) return Number(value)
  }
  return null
}
