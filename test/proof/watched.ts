import Database from 'better-sqlite3'
import { systemClock } from '../../src/clock.ts'
import { cpuWaitMs } from '../../src/daemon/cpu-wait.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type Daemon, until } from '../support/daemon.ts'

/** Three nodes that are well, for a daemon whose disk is not. */
export interface WatchedNodes {
  /** Polls each ten times a second. */
  readonly config: object
  readonly nodes: readonly SimulatedNode[]
  stop(): Promise<void>
}

const NAMES = ['a', 'b', 'c']

export async function startNodes(): Promise<WatchedNodes> {
  const chain = createChain({ clock: systemClock, seed: 'proof', blockTimeMs: 1000 })
  const kind = { family: 'ethereum' } as const
  const nodes: SimulatedNode[] = await Promise.all(
    NAMES.map((name) => startSimulatedNode({ clock: systemClock, chain, kind, name })),
  )
  const endpoints = nodes.map(({ name, url }) => ({ name, url }))
  return {
    config: {
      poll: { interval: '100ms', timeout: '100ms' },
      networks: [{ name: 'net', family: 'ethereum', block_time: '1s', endpoints }],
    },
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}

export interface Figures {
  readonly degraded: boolean
  readonly integrityOk: boolean
  readonly judging: boolean
  readonly queued: number
  readonly written: number
  readonly dropped: number
  /** Polls that have ended, stored or not. */
  readonly polls: number
  readonly failures: Readonly<Record<string, number>>
  /** The longest wait of the event loop since the figures were requested last, without the time it waited for a CPU. */
  readonly loopHeldMs: number
}

/** How long the main thread has waited for a CPU until the last figures. */
const waitedUntilThen = new WeakMap<Daemon, number>()

function waitedSince(daemon: Daemon): number {
  const waited = cpuWaitMs(daemon.pid) ?? 0
  const before = waitedUntilThen.get(daemon) ?? 0
  waitedUntilThen.set(daemon, waited)
  return waited - before
}

export async function figuresOf(daemon: Daemon): Promise<Figures> {
  const { text } = await daemon.get('/metrics')
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(\\{[^\\n]*\\})? (\\S+)$`, 'gm'))].map(
      ([, labels = '', value]) => [labels, Number(value)] as const,
    )
  const sum = (name: string) => values(name).reduce((total, [, value]) => total + value, 0)
  return {
    degraded: sum('heartline_store_degraded') === 1,
    integrityOk: sum('heartline_store_integrity_ok') === 1,
    judging: sum('heartline_observer_judging') === 1,
    queued: sum('heartline_store_queue_rows'),
    written: sum('heartline_store_rows_written_total'),
    dropped: sum('heartline_store_rows_dropped_total'),
    // A poll reads the head; the node's own state is requested less often.
    polls: values('heartline_checks_total').reduce(
      (total, [labels, value]) => total + (labels.includes('check="head"') ? value : 0),
      0,
    ),
    failures: Object.fromEntries(
      values('heartline_store_write_failures_total').map(([labels, value]) => [
        /reason="([^"]+)"/.exec(labels)?.[1],
        value,
      ]),
    ),
    loopHeldMs: sum('nodejs_eventloop_lag_max_seconds') * 1000 - waitedSince(daemon),
  }
}

/** Looks until the figures are so, and gives them. What the daemon, and this process with its nodes, wait for a CPU is added to `withinMs`. */
export async function untilFigures(
  daemon: Daemon,
  are: (figures: Figures) => boolean,
  what: string,
  withinMs = 15_000,
): Promise<Figures> {
  const waitedMs = () => (cpuWaitMs(daemon.pid) ?? 0) + (cpuWaitMs() ?? 0)
  const end = performance.now() - waitedMs() + withinMs
  let figures = await figuresOf(daemon)
  await until(async () => {
    figures = await figuresOf(daemon)
    if (are(figures)) return true
    if (performance.now() - waitedMs() > end) throw new Error(`not within ${withinMs} ms: ${what}`)
    return false
  }, what)
  return figures
}

/**
 * Polls of a closed store, with those that are only counted: a full disk takes the rows of the five minutes before these.
 * Throws when it is damaged.
 */
export function pollsIn(path: string): number {
  const db = new Database(path)
  try {
    const found = db.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw new Error(`integrity_check: ${String(found)}`)
    const { rows, first } = db.prepare('SELECT count(*) AS rows, min(slot) AS first FROM polls').get() as {
      rows: number
      first: number | null
    }
    return (
      rows +
      Number(
        db
          .prepare('SELECT total(polls) FROM five_minutes WHERE bucket < ?')
          .pluck()
          .get(first ?? 0),
      )
    )
  } finally {
    db.close()
  }
}
