import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFaults } from '../test/proof/faults.ts'
import { killWhileWriting } from '../test/proof/kill.ts'
import {
  complaintsAbout,
  incidentIds,
  killDaemonWhileNotifying,
  killWhileNotifying,
} from '../test/proof/notify-kills.ts'
import { callsIn, cutPower, longestUnsyncedMs, recordWrites } from '../test/proof/power.ts'
import { createRandom } from '../test/proof/random.ts'
import { openScene, sumOf } from '../test/proof/scene.ts'
import { startNodes } from '../test/proof/watched.ts'
import { startDaemon } from '../test/support/daemon.ts'
import { figure, median, mustBeNone } from './support.ts'

/**
 * What crashes and power cuts cost. 200 times a process that writes is killed; 500 times the power is cut, as test/proof/power.ts
 * says; and for a minute a daemon at an easy pace shows how long something written waits for its fsync. Then what a daemon that is
 * stopped for a minute makes of nodes that are well, and how much memory thousands of endpoints take that all fail. Then 200 times
 * a process is killed that sends 1,000 messages, and 200 times a whole daemon. Ends with 1 when an
 * acknowledged row or a message was lost, a file was damaged, or a node was blamed. `kills`, `cuts`, `window`, `stop`, `memory`,
 * `messages` or `daemons` as the argument runs that part alone; a second argument is another seed.
 */
const KILLS = 200
const CUTS = 500
const BATCHES_RECORDED = 4000
const WINDOW_MS = 60_000
const STOPPED_MS = 60_000
const REFUSED = 5000
const HEAP_MIB = 128
const MEMORY_MS = 30_000
/** Two messages each. */
const INCIDENTS = 500
/** Endpoints that fail in the life of each daemon: their messages are a thousand. */
const FAILURES_PER_LIFE = 3
const [part, seed = '1'] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'heartline-reliability-'))

async function kills(): Promise<void> {
  const folder = join(directory, 'kills')
  mkdirSync(folder)
  let acknowledged = 0
  let lost = 0
  let bad = 0
  const openedMs: number[] = []
  const random = createRandom(Number(seed))
  const options = { cycles: KILLS, directory: folder, random, leastMs: 50, mostMs: 500, from: 'dist' } as const
  for await (const cycle of killWhileWriting(options)) {
    acknowledged += cycle.acknowledged
    lost += cycle.lost
    if (!cycle.sound || !cycle.whole) bad++
    openedMs.push(cycle.openedMs)
  }
  // The first one found nothing to recover.
  const recovery = openedMs.slice(1)
  figure('kill -9 while writing: cycles', openedMs.length)
  figure('kill -9 while writing: rows acknowledged', acknowledged)
  mustBeNone('kill -9 while writing: acknowledged rows lost', lost)
  mustBeNone('kill -9 while writing: damaged files, or batches in parts', bad)
  figure('kill -9 while writing: file at the end', `${(statSync(join(folder, 'store.db')).size / 1e6).toFixed(1)} MB`)
  const worst = Math.max(...recovery)
  figure('kill -9 while writing: opened again in, median', `${median(recovery).toFixed(0)} ms`)
  figure('kill -9 while writing: opened again in, most', `${worst.toFixed(0)} ms`)
}

async function cuts(): Promise<void> {
  const folder = join(directory, 'cuts')
  mkdirSync(folder)
  const calls = await recordWrites(folder, BATCHES_RECORDED)
  const all = [...cutPower(calls, { cases: CUTS, directory: folder, random: createRandom(Number(seed)) })]
  const syncs = calls.filter(({ call, file }) => call === 's' && file === 'store.db-wal').length
  figure('power cut: cases', all.length)
  figure('power cut: calls on the disk, of them fsyncs of the WAL', `${calls.length.toLocaleString('en-US')}, ${syncs}`)
  mustBeNone('power cut: damaged files', all.filter(({ sound }) => !sound).length)
  mustBeNone('power cut: other than the first whole batches', all.filter(({ whole }) => !whole).length)
  mustBeNone(
    'power cut: rows lost that had been synced',
    all.reduce((sum, { lostThoughSynced }) => sum + lostThoughSynced, 0),
  )
  const losses = all.map(({ lost }) => lost)
  figure('power cut: rows lost that had not been synced, median', median(losses))
  figure('power cut: rows lost that had not been synced, most', Math.max(...losses))
}

async function window(): Promise<void> {
  const folder = join(directory, 'window')
  mkdirSync(folder)
  const nodes = await startNodes()
  const log = join(folder, 'writes')
  const env = { LD_PRELOAD: compileFaults(directory), HEARTLINE_WRITES: log }
  const daemon = await startDaemon({ ...nodes.config, poll: { interval: '1s', timeout: '500ms' } }, { folder, env })
  await new Promise((resolve) => setTimeout(resolve, WINDOW_MS))
  await daemon.stop('SIGKILL')
  await nodes.stop()
  const longest = longestUnsyncedMs(callsIn(readFileSync(log)), 'heartline.db-wal')
  figure('daemon at an easy pace: longest wait of a write for its fsync', `${(longest / 1000).toFixed(1)} s`)
}

async function stop(): Promise<void> {
  const scene = await openScene({ hosts: Array.from({ length: 6 }, () => '127.0.0.1'), latencyMs: 200 })
  scene.daemon.process.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, STOPPED_MS))
  const woken = performance.now()
  scene.daemon.process.kill('SIGCONT')
  const { observer } = await scene.until((look) => look.observer.impaired, 'it is reported')
  await scene.until(({ states }) => states.every((state) => state === 'up'), 'everybody is up')
  const upMs = performance.now() - woken
  await new Promise((resolve) => setTimeout(resolve, 5000))
  const inFirst = scene.nodes.map((node) => scene.polls(node).filter((at) => at >= woken && at < woken + 1000).length)
  const { metric } = await scene.look()
  figure('stopped for a minute, polled each second: reported as', observer.reasons.join('; '))
  figure('stopped for a minute: most polls of a node in the second after', Math.max(...inFirst))
  figure('stopped for a minute: turns skipped, of six nodes', metric('scheduler_skips_total', { reason: 'late' }))
  figure('stopped for a minute: everybody known again after', `${upMs.toFixed(0)} ms`)
  mustBeNone('stopped for a minute: anything held against a node', (await scene.accusations()).length)
  await scene.close()
}

async function memory(): Promise<void> {
  const folder = join(directory, 'memory')
  mkdirSync(folder)
  const endpoints = Array.from({ length: REFUSED }, (_, at) => ({
    name: `e${at}`,
    url: `http://127.1.${Math.floor(at / 250)}.${1 + (at % 250)}:9`,
  }))
  const config = { poll: { interval: '10s' }, networks: [{ name: 'net', family: 'ethereum', endpoints }] }
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` }
  const daemon = await startDaemon(config, { folder, env, early: true })
  const heaps: number[] = []
  for (const end = performance.now() + MEMORY_MS; performance.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const { text } = await daemon.get('/metrics')
    heaps.push(Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]))
  }
  const { text } = await daemon.get('/metrics')
  figure(`${REFUSED} endpoints that refuse, in ${HEAP_MIB} MiB: incidents open`, sumOf(text, 'incidents_open'))
  figure(`${REFUSED} endpoints that refuse: most heap in use`, `${(Math.max(...heaps) / 2 ** 20).toFixed(0)} MiB`)
  figure(`${REFUSED} endpoints that refuse: turns skipped`, sumOf(text, 'scheduler_skips_total'))
  mustBeNone(`${REFUSED} endpoints that refuse: ended for want of memory`, daemon.process.exitCode === null ? 0 : 1)
  await daemon.stop('SIGKILL')
}

async function messages(): Promise<void> {
  const folder = join(directory, 'messages')
  mkdirSync(folder)
  const options = { incidents: INCIDENTS, kills: KILLS, directory: folder, random: createRandom(Number(seed)) }
  const { received, refused, killed } = await killWhileNotifying(options)
  const ids = new Set(received.map(({ id }) => id))
  figure('kill -9 while notifying: cycles', killed)
  figure('kill -9 while notifying: incidents that opened and closed', INCIDENTS)
  figure('kill -9 while notifying: messages received', ids.size)
  figure('kill -9 while notifying: received again, under the same id', received.length - ids.size)
  figure('kill -9 while notifying: refused or not received', refused)
  const complaints = complaintsAbout(received, incidentIds(INCIDENTS))
  for (const complaint of complaints.slice(0, 5)) figure('', complaint)
  mustBeNone('kill -9 while notifying: lost, out of order, or twice under two ids', complaints.length)
}

/** The same of whole daemons, whose endpoints fail and recover. */
async function daemons(): Promise<void> {
  const folder = join(directory, 'daemons')
  mkdirSync(folder)
  const random = createRandom(Number(seed))
  const options = { kills: KILLS, failuresPerLife: FAILURES_PER_LIFE, directory: folder, random }
  const { received, refused, killed, incidents } = await killDaemonWhileNotifying(options)
  const ids = new Set(received.map(({ id }) => id))
  const told = received.filter(({ id }, at) => received.findIndex((other) => other.id === id) === at)
  figure('kill -9 of daemons that notify: daemons', killed)
  figure('kill -9 of daemons that notify: incidents that opened and closed', incidents.length)
  figure('kill -9 of daemons that notify: messages received', ids.size)
  figure(
    'kill -9 of daemons that notify: openings and ends in them',
    told.reduce((sum, one) => sum + one.incidents.length, 0),
  )
  figure('kill -9 of daemons that notify: received again, under the same id', received.length - ids.size)
  figure('kill -9 of daemons that notify: refused or not received', refused)
  const complaints = complaintsAbout(received, incidents)
  for (const complaint of complaints.slice(0, 5)) figure('', complaint)
  mustBeNone('kill -9 of daemons that notify: lost, out of order, or twice under two ids', complaints.length)
}

if (part === undefined || part === 'kills') await kills()
if (part === undefined || part === 'cuts') await cuts()
if (part === undefined || part === 'window') await window()
if (part === undefined || part === 'stop') await stop()
if (part === undefined || part === 'memory') await memory()
if (part === undefined || part === 'messages') await messages()
if (part === undefined || part === 'daemons') await daemons()
rmSync(directory, { recursive: true, force: true })
