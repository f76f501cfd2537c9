import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { median, startFleetProcess } from './support.ts'

/**
 * From starting the process to its first poll, to listening, and to `/-/ready`: 1,000 endpoints, an empty store and one of a gigabyte.
 * Run with `npx tsx bench/start.ts`.
 */
const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const COUNT = 1000
const ROUNDS = 5
const SLOT_MS = 300_000

const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
const fleet = await startFleetProcess({ family: 'avalanche', count: COUNT, origins: 10 })
const file = join(folder, 'heartline.yaml')
const store = join(folder, 'heartline.db')
writeFileSync(
  file,
  JSON.stringify({
    server: { listen: '127.0.0.1:0' },
    poll: { interval: '1s' },
    networks: [{ name: 'net', family: 'avalanche', endpoints: fleet.urls.map((url, at) => ({ name: `e${at}`, url })) }],
  }),
)

async function start(): Promise<{ listening: number; ready: number }> {
  const startedAt = performance.now()
  const daemon = spawn(process.execPath, [MAIN, 'serve', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise((resolve) => daemon.once('exit', resolve))
  const url = await new Promise<string>((resolve) => {
    let log = ''
    daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      const found = /"url":"(http[^"]+)\/"/.exec(log)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  const listening = performance.now() - startedAt
  while ((await fetch(`${url}/-/ready`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 5))
  const ready = performance.now() - startedAt
  daemon.kill('SIGTERM')
  await exited
  return { listening, ready }
}

/** Polls of every endpoint each 15 s, back from half an hour ago, until the file is so large. */
function fill(bytes: number): void {
  const db = new Database(store)
  db.pragma('synchronous = OFF')
  const insert = db.prepare(`
    WITH RECURSIVE turns(turn) AS (SELECT 0 UNION ALL SELECT turn + 1 FROM turns WHERE turn < 19)
    INSERT INTO polls SELECT ?, endpoint_id, turn * 15000 + endpoint_id, 0, 21000 + endpoint_id, 21000000 + turn, 0, 1500, 0
    FROM endpoints, turns ORDER BY endpoint_id, turn`)
  const newest = Math.floor(Date.now() / SLOT_MS) - 6
  let slot = newest
  while (statSync(store).size < bytes) {
    db.transaction(() => {
      for (let batch = 0; batch < 20; batch++) insert.run(slot--)
    })()
    db.pragma('wal_checkpoint(TRUNCATE)')
  }
  db.prepare("INSERT OR REPLACE INTO marks VALUES ('rolled_to', ?), ('raw_from', ?)").run(newest, slot)
  db.close()
}

async function tell(title: string): Promise<void> {
  const times: { listening: number; ready: number }[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await start())
  const listening = median(times.map((time) => time.listening))
  const ready = median(times.map((time) => time.ready))
  console.log(
    `${title}: listening and polling after ${listening.toFixed(0)} ms, first round of all done after ${ready.toFixed(0)} ms`,
  )
}

await start()
await tell('a new store')
fill(1e9)
await tell(`a store of ${(statSync(store).size / 1e9).toFixed(2)} GB`)
fleet.stop()
rmSync(folder, { recursive: true, force: true })
