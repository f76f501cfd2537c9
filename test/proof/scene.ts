import { get } from 'node:http'
import Database from 'better-sqlite3'
import { type Clock, systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import {
  type RunningDaemon,
  removeFolder,
  type StatusView,
  startDaemon,
  temporaryFolder,
  until,
} from '../support/daemon.ts'

/** Nodes that are well, and a daemon that something happens to: whatever it is, none of them is to blame. */
export interface Scene {
  readonly daemon: RunningDaemon
  readonly nodes: readonly SimulatedNode[]
  /** When each poll reached the node, on our monotonic clock. */
  polls(node: SimulatedNode): readonly number[]
  look(): Promise<Look>
  until(holds: (look: Look) => boolean, what: string, withinMs?: number): Promise<Look>
  /**
   * Waits until every endpoint is up, and returns every failure ever attributed to a node: in the log, in state changes, in
   * incidents and in the history. Empty, because all nodes work.
   */
  accusations(): Promise<readonly string[]>
  /** Stops the daemon, and reads what it has written. */
  written(): Promise<Written>
  close(): Promise<void>
}

export interface Look {
  /** Of every endpoint. */
  readonly states: readonly string[]
  readonly observer: { readonly impaired: boolean; readonly reasons: readonly string[] }
  /** The sum over all series of that name that have all these labels. */
  metric(name: string, labels?: Readonly<Record<string, string>>): number
}

export interface Written {
  /** When each poll of every endpoint was made, oldest first, in ms since 1970, UTC. */
  readonly polls: readonly (readonly number[])[]
  readonly incidents: number
}

export interface SceneOptions {
  readonly hosts?: readonly string[]
  readonly family?: 'ethereum' | 'avalanche'
  readonly latencyMs?: number
  /** Of polls, and their timeout. */
  readonly intervalMs?: number
  readonly thresholds?: object
  /** Of the nodes; the daemon's is its own. */
  readonly clock?: Clock
  readonly env?: NodeJS.ProcessEnv
}

export const INTERVAL_MS = 1000
/** One poll is enough for a false verdict. */
export const AT_ONCE = { fail_after: 1, recover_after: 1 }
const ONE_HOST = ['127.0.0.1', '127.0.0.1', '127.0.0.1']
const SLOT_MS = 300_000

export async function openScene({
  hosts = ONE_HOST,
  family = 'ethereum',
  latencyMs = 0,
  intervalMs = INTERVAL_MS,
  thresholds = {},
  clock = systemClock,
  env = {},
}: SceneOptions = {}): Promise<Scene> {
  const chain = createChain({ clock, seed: 'scene', blockTimeMs: 1000 })
  const polls = new Map<string, number[]>()
  const nodes = await Promise.all(
    hosts.map((host, at) => {
      const name = `node-${at}`
      const times: number[] = []
      polls.set(name, times)
      return startSimulatedNode({
        clock,
        chain,
        kind: { family },
        name,
        host,
        latencyMs,
        onRequest: ({ body }) => void (body.includes('"latest"') && times.push(performance.now())),
      })
    }),
  )
  let folder = temporaryFolder()
  function freshFolder(): string {
    removeFolder(folder)
    folder = temporaryFolder()
    return folder
  }
  const config = {
    poll: { interval: `${intervalMs}ms`, timeout: `${intervalMs}ms` },
    networks: [
      {
        name: 'net',
        family,
        block_time: '1s',
        thresholds,
        endpoints: nodes.map(({ name, url }) => ({ name, url })),
      },
    ],
  }
  let daemon = await startDaemon(config, { folder, env })

  async function look(): Promise<Look> {
    const text = await textOf(`${daemon.url}/metrics`)
    const status = JSON.parse(await textOf(`${daemon.url}/api/v1/status`)) as StatusView
    return {
      states: status.networks.flatMap(({ endpoints }) => endpoints.map(({ state }) => state)),
      observer: status.observer,
      metric: (name, labels = {}) => sumOf(text, name, labels),
    }
  }

  async function untilLook(holds: (look: Look) => boolean, what: string, withinMs = 60_000): Promise<Look> {
    let last = await look()
    async function isSo(): Promise<boolean> {
      last = await look()
      return holds(last)
    }
    await until(isSo, what, withinMs).catch((error: unknown) => {
      throw new Error(`${JSON.stringify(last)}\n${daemon.log().slice(-3000)}`, { cause: error })
    })
    return last
  }

  // On a machine so busy that nodes seem slow before the test starts, nothing could be concluded.
  for (let turn = 0; turn < 3; turn++) {
    const { metric } = await untilLook(isAllUp, 'everybody is up')
    if (metric('endpoint_state_changes_total') === 0) break
    await daemon.stop('SIGKILL')
    daemon = await startDaemon(config, { folder: freshFolder(), env })
  }

  return {
    daemon,
    nodes,
    polls: ({ name }) => polls.get(name) ?? [],
    look,
    until: untilLook,

    async accusations() {
      const { metric } = await untilLook(isAllUp, 'everybody is up')
      const found = daemon
        .log()
        .split('\n')
        .filter((line) => /incident opened|endpoint went down|endpoint is degraded|network halted/.test(line))
      for (const name of ['endpoint_state_changes_total', 'incidents_open']) {
        if (metric(name) !== 0) found.push(`${name} ${metric(name)}`)
      }
      for (const { name } of nodes) {
        for (const { start, down_seconds: down, degraded_seconds: degraded } of await historyOf(daemon, name)) {
          if (down + degraded > 0) found.push(`${name} from ${start}: down ${down} s, degraded ${degraded} s`)
        }
      }
      return found
    },

    async written() {
      const status = await daemon.stop()
      if (status !== 0) throw new Error(`it ended with ${status}`)
      return readStore(`${folder}/heartline.db`)
    },

    async close() {
      await daemon.stop('SIGKILL')
      removeFolder(folder)
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}

export function isAllUp({ states }: Look): boolean {
  return states.every((state) => state === 'up')
}

interface Bucket {
  readonly start: string
  readonly up_seconds: number
  readonly unknown_seconds: number
  readonly down_seconds: number
  readonly degraded_seconds: number
  readonly polls: number
}

/** The last hours, and the next one too. */
export async function historyOf(daemon: RunningDaemon, endpoint: string, query = ''): Promise<readonly Bucket[]> {
  const text = await textOf(`${daemon.url}/api/v1/endpoints/net/${endpoint}/history?${query}`)
  return (JSON.parse(text) as { buckets: Bucket[] }).buckets
}

/** Over a new connection: one that was idle during a standstill may be closed just when it is used. */
export function textOf(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', (part: string) => {
          text += part
        })
        .on('end', () => resolve(text))
        .on('error', reject)
    }).on('error', reject)
  })
}

/** The sum over all series of that name that have all these labels. */
export function sumOf(exposition: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  let sum = 0
  for (const [, of = '', value] of exposition.matchAll(
    new RegExp(`^heartline_${name}(\\{[^\\n]*\\})? (\\S+)$`, 'gm'),
  )) {
    if (wanted.every((label) => of.includes(label))) sum += Number(value)
  }
  return sum
}

function readStore(path: string): Written {
  const db = new Database(path, { readonly: true })
  try {
    const ids = db.prepare<[], number>('SELECT endpoint_id FROM endpoints ORDER BY name').pluck().all()
    const times = db
      .prepare<[number], number>('SELECT slot * ? + offset_ms FROM polls WHERE endpoint_id = ?')
      .pluck() as unknown as { all(...of: number[]): number[] }
    return {
      polls: ids.map((id) => times.all(SLOT_MS, id).sort((a, b) => a - b)),
      incidents: Number(db.prepare('SELECT count(*) FROM incidents').pluck().get()),
    }
  } finally {
    db.close()
  }
}
