import { closeSync, openSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { systemClock } from '../../../src/clock.ts'
import { openStore } from '../../../src/store/open-store.ts'

/**
 * Uses up every file descriptor of this process, then makes the store do everything that needs one, and prints what happened.
 * The caller sets a low limit for open files.
 */
const [path = ''] = process.argv.slice(2)
const ENDPOINT = 'ethereum/own-1'
const lines: string[] = []
const log = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
const workers: Worker[] = []
const held: number[] = []
function exhaust(): void {
  try {
    for (;;) held.push(openSync('/dev/null', 'r'))
  } catch {
    // EMFILE: that is what is wanted.
  }
}
function free(): void {
  for (const handle of held.splice(0)) closeSync(handle)
}

// Loads SQLite: Node remembers for good that it could not read a package.
new Database(':memory:').close()
exhaust()
// One is enough to open the lock's database, not to begin a transaction there.
closeSync(held.pop() ?? 0)
const store = await openStore({
  path,
  retention: { rawMs: 2e9, fiveMinutesMs: 2e9, hourMs: 2e9 },
  maxSizeBytes: 1e9,
  clock: systemClock,
  log: { debug: log, info: log, warn: log, error: log },
  onSpawn: (worker) => workers.push(worker),
})
const troubleAtStart = store.status().trouble
free()
while (store.status().trouble !== null) await systemClock.sleep(50)

const start = systemClock.now() - 60_000
let polls = 0
function poll(): void {
  const measured = { latencyMs: 1, height: 1, lagBlocks: 0, heartbeatLagMs: null, contiguousFailures: null }
  store.poll({ endpoint: ENDPOINT, at: start + polls++, state: 'up', fresh: true, failure: null, ...measured })
}
const writer = workers.at(-1)
store.register([{ endpoint: ENDPOINT, holdMs: 30_000 }], start)
poll()
await store.flush()

exhaust()
const nameOf = ({ name }: Error) => name
const query = { endpoint: ENDPOINT, from: start - 1000, to: start + 60_000 }
const scarce: Record<string, unknown> = { troubleAtStart }
scarce['polls'] = await store.polls({ ...query, limit: 10 }).catch(nameOf)
scarce['history'] = await store.history({ ...query, stepMs: 1000 }).catch(nameOf)
scarce['incidents'] = (await store.incidents({ limit: 1 })).length
scarce['integrity'] = await store.run('integrity', systemClock.now())
scarce['retention'] = await store.run('retention', systemClock.now())
// The writer thread dies too, and cannot be started again.
await writer?.terminate()
exhaust()
for (let turn = 0; turn < 4; turn++) {
  poll()
  await store.flush()
  exhaust()
}
scarce['trouble'] = store.status().trouble
scarce['counted'] = [...store.status().writeFailures.values()].reduce((sum, count) => sum + count, 0)
for (let turn = 0; turn < 3; turn++) {
  await systemClock.sleep(1500)
  await store.polls({ ...query, limit: 10 }).catch(nameOf)
  exhaust()
}
scarce['lines'] = lines.length

free()
while (store.status().trouble !== null) await systemClock.sleep(50)
poll()
await store.flush()
const found = (await store.polls({ ...query, limit: 100 })).length
const intact = await store.run('integrity', systemClock.now())
await store.close()
console.log(JSON.stringify({ scarce, polls, found, intact, lines }))
