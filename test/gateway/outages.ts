import { Pool } from 'undici'
import { systemClock as clock } from '../../src/clock.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { removeFolder, startDaemon, until } from '../support/daemon.ts'

export interface OutagePlan {
  readonly perSecond: number
  /** How long each outage lasts, and as long again until the next. */
  readonly outageMs: number
}

export interface OutageReport {
  readonly requests: number
  /** What was no answer, in words. */
  readonly errors: readonly string[]
  /** Answers below what their caller had been given before it asked. */
  readonly lower: readonly string[]
  /** Blocks that their caller had seen and that were missing. */
  readonly missing: readonly string[]
  /** By how many blocks the chain went on meanwhile. */
  readonly advanced: number
  /** Number of answers by endpoint. */
  readonly answeredBy: Readonly<Record<string, number>>
  readonly latenciesMs: readonly number[]
}

const BLOCK_TIME_MS = 500
const CALLERS = ['wallet-0123456789abcdef', 'explorer-0123456789abcdef'] as const
const NAMES = ['a', 'b', 'c'] as const

/** What happens to the nodes, one after the other: each has caught up before the next is ill. */
const OUTAGES = ['rolled back', 'stopped', 'killed'] as const

/**
 * Three real nodes on one chain behind the whole daemon, and callers who ask at a constant rate, whatever comes back. The
 * node that answers them is rolled back and catches up; then the one that answers is stopped and goes on; then one is killed.
 */
export async function runOutages({ perSecond, outageMs }: OutagePlan): Promise<OutageReport> {
  const timestamp = Math.floor(clock.now() / 1000) - 100_000
  const anvils = await Promise.all(NAMES.map(() => startAnvil({ timestamp })))
  for (const anvil of anvils) for (let block = 0; block < 8; block++) await anvil.mine()
  const daemon = await startDaemon({
    poll: { interval: '500ms', timeout: '500ms' },
    networks: [
      {
        name: 'dev',
        family: 'ethereum',
        chain_id: 31_337,
        block_time: `${BLOCK_TIME_MS}ms`,
        endpoints: NAMES.map((name, at) => ({ name, url: anvils[at]?.url })),
      },
    ],
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      callers: CALLERS.map((id) => ({ name: id.slice(0, 6).replace(/-.*/, ''), endpoint_id: id })),
    },
  })
  const gateway = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1] ?? ''
  const pool = new Pool(gateway, { connections: 256, pipelining: 1 })

  const minedBy = new Set<Anvil>(anvils)
  const ending = new AbortController()
  const mining = (async () => {
    while (!ending.signal.aborted) {
      for (const anvil of minedBy) await Promise.race([anvil.mine().catch(() => {}), clock.sleep(100)])
      await clock.sleep(BLOCK_TIME_MS)
    }
  })()
  async function catchUp(anvil: Anvil): Promise<void> {
    for (let behind = 1; behind > 0; ) {
      const heights = await Promise.all([...minedBy].map((other) => other.height()))
      behind = Math.max(...heights) - (await anvil.height())
      for (let block = 0; block < behind; block++) await anvil.mine()
    }
    minedBy.add(anvil)
  }
  /** The node that the callers are served by: an outage of any other would hardly be felt. */
  async function happens(outage: (typeof OUTAGES)[number]): Promise<void> {
    const victim = anvils[NAMES.findIndex((name) => name === load.servedBy())] as Anvil
    minedBy.delete(victim)
    switch (outage) {
      case 'rolled back':
        await victim.rollback(3)
        await clock.sleep(outageMs)
        return catchUp(victim)
      case 'stopped':
        victim.signal('SIGSTOP')
        await clock.sleep(outageMs)
        victim.signal('SIGCONT')
        return catchUp(victim)
      case 'killed':
        victim.signal('SIGKILL')
        return clock.sleep(outageMs)
    }
  }

  const load = createLoad(pool)
  const began = clock.monotonic()
  const asking = (async () => {
    for (let turn = 0; !ending.signal.aborted; await clock.sleep(2)) {
      const due = ((clock.monotonic() - began) / 1000) * perSecond
      for (; turn < due; turn++) load.ask(turn)
    }
  })()
  try {
    await clock.sleep(outageMs / 2)
    for (const outage of OUTAGES) {
      await happens(outage)
      await clock.sleep(outage === 'killed' ? 0 : outageMs / 2)
    }
    ending.abort()
    await Promise.all([asking, mining])
    await until(() => load.underWay() === 0, 'all is answered')
    return load.report()
  } finally {
    ending.abort()
    await pool.destroy()
    await daemon.stop()
    removeFolder(daemon.folder)
    for (const anvil of anvils) anvil.signal('SIGKILL')
  }
}

function createLoad(pool: Pool) {
  const errors: string[] = []
  const lower: string[] = []
  const missing: string[] = []
  const answeredBy: Record<string, number> = {}
  const latenciesMs: number[] = []
  const given = new Map<string, number>()
  let first: number | null = null
  let requests = 0
  let underWay = 0
  let servedBy = ''

  async function askOnce(turn: number): Promise<void> {
    const id = CALLERS[turn % 2] as string
    const known = given.get(id) ?? 0
    const kind = (turn >> 1) % 4
    const [method, params] =
      kind === 0
        ? ['eth_blockNumber', []]
        : ['eth_getBlockByNumber', [kind === 1 && known > 0 ? `0x${known.toString(16)}` : 'latest', false]]
    const startedAt = clock.monotonic()
    const { statusCode, headers, body } = await pool.request({
      path: `/dev/${id}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: turn, method, params }),
    })
    const text = await body.text()
    latenciesMs.push(clock.monotonic() - startedAt)
    const by = String(headers['x-heartline-endpoint'])
    answeredBy[by] = (answeredBy[by] ?? 0) + 1
    servedBy = by
    const { id: echoed, result, error } = JSON.parse(text)
    if (statusCode !== 200 || error !== undefined || echoed !== turn) return void errors.push(`${statusCode} ${text}`)
    if (kind === 1 && known > 0) {
      if (Number(result?.number) !== known) missing.push(`${known}: ${text.slice(0, 200)}, by ${by}`)
      return
    }
    const height = Number(typeof result === 'string' ? result : result?.number)
    first ??= height
    // What it had been given when it asked: answers under way together may come in any order.
    if (!(height >= known)) lower.push(`${height} after ${known}, by ${by}`)
    given.set(id, Math.max(height, given.get(id) ?? 0))
  }

  return {
    ask(turn: number): void {
      requests++
      underWay++
      askOnce(turn)
        .catch((error: unknown) => void errors.push(String(error)))
        .finally(() => underWay--)
    },
    underWay: () => underWay,
    servedBy: () => servedBy,
    report: (): OutageReport => ({
      requests,
      errors,
      lower,
      missing,
      advanced: Math.max(...given.values()) - (first ?? 0),
      answeredBy,
      latenciesMs,
    }),
  }
}
