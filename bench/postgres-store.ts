// What a stored poll costs in SQLite and in PostgreSQL (Debian's, in a temporary folder): CPU time of the daemon's process and of the
// server, and bytes. 1,000 endpoints each 15 s for half an hour, written, rolled up, and read; the engines in turns.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/clock.ts'
import { Secret } from '../src/secret.ts'
import { openStore } from '../src/store/open-store.ts'
import { startPostgres } from '../test/support/postgres.ts'

const ENDPOINTS = Array.from({ length: 1000 }, (_, at) => `net/e-${at}`)
const ROUNDS = 120
const POLLS = ENDPOINTS.length * ROUNDS
const TURNS = 3
const DAY_MS = 86_400_000
const SIZE_OF_POLLS = `SELECT sum(pg_total_relation_size(inhrelid)) AS bytes FROM pg_inherits
  WHERE inhparent = 'polls'::regclass`
const log = { debug() {}, info() {}, warn: console.error, error: console.error }

/** CPU time of all server processes, in microseconds. */
function serverCpu(): number {
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      if (!stat.includes('(postgres)')) continue
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // It has ended in the meantime.
    }
  }
  return ticks * 10_000
}

async function costOf(work: () => Promise<unknown>): Promise<{ daemon: number; server: number }> {
  const [cpu, server] = [process.cpuUsage(), serverCpu()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { daemon: user + system, server: serverCpu() - server }
}

async function measure(url: Secret | null): Promise<Record<string, { daemon: number; server: number }>> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  let now = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 24
  const store = await openStore({
    url,
    path: url === null ? join(folder, 'store.db') : null,
    retention: { rawMs: 2 * DAY_MS, fiveMinutesMs: 30 * DAY_MS, hourMs: 730 * DAY_MS },
    maxSizeBytes: 1e11,
    clock: { ...systemClock, now: () => now },
    log,
  })
  store.register(
    ENDPOINTS.map((endpoint) => ({ endpoint, holdMs: 30_000 })),
    now,
  )
  const rest = { state: 'up', fresh: true, heartbeatLagMs: null, contiguousFailures: null, failure: null } as const
  const write = await costOf(async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, endpoint] of ENDPOINTS.entries()) {
        const measured = { latencyMs: 10 + ((at * 7 + round) % 90), height: 24_000_000 + round, lagBlocks: at % 3 }
        store.poll({ endpoint, at: now + (at % 15) * 1000, ...rest, ...measured })
      }
      now += 15_000
      await store.flush()
    }
  })
  const rollUp = await costOf(() => store.run('roll-up', now))
  const availability = await costOf(() => store.availability(ENDPOINTS, now))
  await store.close()
  rmSync(folder, { recursive: true })
  return { write, rollUp, availability }
}

const server = await startPostgres(['shared_buffers=64MB', 'max_wal_size=1GB'])
for (let turn = 0; turn < TURNS; turn++) {
  for (const engine of ['SQLite', 'PostgreSQL']) {
    const url = engine === 'SQLite' ? null : await server.createDatabase()
    const costs = await measure(url === null ? null : new Secret(url))
    const shown = Object.entries(costs).map(([what, { daemon, server: at }]) => {
      return `${what} ${(daemon / POLLS).toFixed(2)} + ${(at / POLLS).toFixed(2)}`
    })
    const [polls] = url === null ? [] : await server.run(SIZE_OF_POLLS, url)
    const bytes = polls === undefined ? '' : `, ${(Number(polls.bytes) / POLLS).toFixed(0)} bytes with the indexes`
    console.log(`${engine}, µs per poll in the daemon + in the server: ${shown.join(', ')}${bytes}`)
  }
}
await server.remove()
