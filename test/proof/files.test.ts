import { spawn } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import {
  type Daemon,
  type RunningDaemon,
  runHeartline,
  startDaemon,
  startDaemonHere,
  until,
} from '../support/daemon.ts'
import { figuresOf, pollsIn, startNodes, untilFigures, type WatchedNodes } from './watched.ts'

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url))

let nodes: WatchedNodes
let all: string
let folder: string
let path: string
const stops: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  nodes = await startNodes()
  all = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
  await leaveBoth()
})
afterAll(async () => {
  await nodes.stop()
  rmSync(all, { recursive: true, force: true })
})
beforeEach(() => {
  folder = mkdtempSync(join(all, 'store-'))
  path = join(folder, 'heartline.db')
})
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

/** A store with some polls, as its daemon leaves it when it is killed, and when it is stopped. */
async function leaveBoth(): Promise<void> {
  mkdirSync(join(all, 'stopped'))
  const daemon = await startDaemon(nodes.config, { folder: join(all, 'stopped') })
  await untilFigures(daemon, ({ written }) => written > 30, 'polls are written')
  daemon.process.kill('SIGSTOP')
  await until(() => isHeld(daemon.process.pid ?? 0), 'none of its threads runs')
  cpSync(join(all, 'stopped'), join(all, 'killed'), { recursive: true })
  daemon.process.kill('SIGCONT')
  await daemon.stop('SIGTERM')
}

/** Whether every thread of the process is stopped. */
function isHeld(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.every((thread) => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')))
}

function takeOver(name: 'stopped' | 'killed'): void {
  cpSync(join(all, name), folder, { recursive: true })
}

async function start(): Promise<RunningDaemon> {
  const daemon = await startDaemon(nodes.config, { folder })
  stops.push(() => daemon.stop('SIGKILL'))
  return daemon
}

/** With an endpoint that is down. */
async function startDown(): Promise<RunningDaemon> {
  const endpoints = [{ name: 'gone', url: 'http://127.0.0.1:1/' }]
  const networks = [{ name: 'ethereum', family: 'ethereum', endpoints }]
  const daemon = await startDaemon({ networks, poll: { interval: '1s' } }, { folder })
  stops.push(() => daemon.stop('SIGKILL'))
  await until(async () => (await daemon.status()).networks[0]?.endpoints[0]?.state === 'down', 'it is down')
  return daemon
}

async function sinceIn(daemon: RunningDaemon): Promise<string | undefined> {
  return (await daemon.status()).networks[0]?.endpoints[0]?.since
}

async function startHere(): Promise<Daemon> {
  const daemon = await startDaemonHere(nodes.config, { folder })
  stops.push(() => daemon.stop())
  return daemon
}

function overwrite(file: string, from: number, bytes: number): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, randomFillSync(Buffer.alloc(bytes)), 0, bytes, from)
  closeSync(handle)
}

describe('a store that was damaged while no daemon ran', () => {
  for (const { how, damage } of [
    { how: 'is nothing but garbage', damage: () => writeFileSync(path, randomFillSync(Buffer.alloc(200_000))) },
    { how: 'has garbage in one of its pages', damage: () => overwrite(path, 4096, 4096) },
    { how: 'is cut off', damage: () => truncateSync(path, statSync(path).size - 10_000) },
  ]) {
    test(`and ${how} is moved aside, and polls are made and written`, async () => {
      takeOver('stopped')
      damage()
      const damaged = readFileSync(path)

      const daemon = await startHere()
      await untilFigures(daemon, ({ written }) => written > 0, 'polls are written')

      expect(await figuresOf(daemon)).toMatchObject({ degraded: false, integrityOk: false })
      const aside = readdirSync(folder).find((name) => name.startsWith('heartline.db.corrupt-')) ?? ''
      expect(readFileSync(join(folder, aside)).equals(damaged)).toBe(true)
      await daemon.stop()
      expect(pollsIn(path)).toBeGreaterThan(0)
    })
  }

  for (const parts of [['-wal'], ['-shm'], ['-wal', '-shm']]) {
    test(`and lost its ${parts.join(' and ')} is sound or moved aside, and is written again`, async () => {
      takeOver('killed')
      for (const part of parts) rmSync(path + part)

      const daemon = await startHere()
      await untilFigures(daemon, ({ written }) => written > 0, 'polls are written')

      expect(await figuresOf(daemon)).toMatchObject({ degraded: false })
      await daemon.stop()
      expect(pollsIn(path)).toBeGreaterThan(parts.includes('-wal') ? 0 : 30)
    })
  }
})

function isWritten(file: string): boolean {
  try {
    const db = new Database(file, { readonly: true })
    try {
      return Number(db.prepare('SELECT count(*) FROM polls').pluck().get()) > 0
    } finally {
      db.close()
    }
  } catch {
    // Not made yet, or just being made.
    return false
  }
}

describe('a store that is deleted while it is open', () => {
  test('has what a restart needs in its new file: the state of endpoints, and open incidents', async () => {
    const told = async (daemon: RunningDaemon) => {
      const { incidents } = JSON.parse((await daemon.get('/api/v1/incidents')).text)
      return {
        since: await sinceIn(daemon),
        incidents: incidents.map((of: { id: string; opened_at: string }) => [of.id, of.opened_at]),
      }
    }
    const first = await startDown()
    const before = await told(first)
    expect(before.incidents).toHaveLength(1)

    for (const part of ['', '-wal', '-shm']) rmSync(path + part, { force: true })
    await until(() => isWritten(path), 'a new file is written')
    await first.stop()

    const second = await startDown()
    expect(await told(second)).toEqual(before)
    expect(second.log()).not.toContain('incident opened')
  }, 120_000)
})

describe('a store that another process has open', () => {
  test('is given to one of three daemons that start at once: the others end with 75', async () => {
    writeFileSync(
      join(folder, 'heartline.yaml'),
      JSON.stringify({ server: { listen: '127.0.0.1:0' }, ...nodes.config }),
    )
    const children = [0, 1, 2].map(() =>
      spawn(process.execPath, [MAIN, 'serve', '-c', join(folder, 'heartline.yaml')], { stdio: 'ignore' }),
    )
    const endings: (number | null)[] = []
    const ended = children.map(
      (child) =>
        new Promise<void>((resolve) => {
          child.once('exit', (code) => {
            endings.push(code)
            resolve()
          })
        }),
    )

    const deadline = systemClock.monotonic() + 15_000
    while (endings.length < 2 && systemClock.monotonic() < deadline) await systemClock.sleep(20)
    await until(() => isWritten(path), 'the one that is left writes')
    expect(endings).toEqual([75, 75])
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(ended)

    expect(endings).toEqual([75, 75, 0])
    expect(pollsIn(path)).toBeGreaterThan(0)
  }, 120_000)

  test('makes a second daemon exit within a second, and is not disturbed by it', async () => {
    const first = await start()
    await untilFigures(first, ({ written }) => written > 0, 'polls are written')
    const refused: number[] = []
    const loaded: number[] = []
    for (let attempt = 0; attempt < 3; attempt++) {
      const startedAt = performance.now()
      // It loads the same program, and ends before it opens a store.
      await runHeartline(['serve', '-c', join(folder, 'no-such-file.yaml')])
      const loadedAt = performance.now()
      const { status, err } = await runHeartline(['serve', '-c', join(folder, 'heartline.yaml')])
      loaded.push(loadedAt - startedAt)
      refused.push(performance.now() - loadedAt)
      expect(status).toBe(75)
      expect(err).toContain('the store is in use')
    }

    // Other tests have the machine as well: what counts is what it takes beyond loading the program, which says how busy it is.
    const second = Math.max(1000, 2 * Math.min(...loaded))
    expect(Math.min(...refused) - Math.min(...loaded)).toBeLessThan(second)
    const { written, polls, dropped, failures } = await figuresOf(first)
    expect(dropped).toBe(0)
    expect(Object.values(failures).every((count) => count === 0)).toBe(true)
    await untilFigures(first, (figures) => figures.written > written, 'it writes on')
    expect(await first.stop()).toBe(0)
    expect(pollsIn(path)).toBeGreaterThanOrEqual(polls)
  }, 120_000)

  test('that another writer locks at the start loses nothing of what was saved', async () => {
    const first = await startDown()
    const before = await sinceIn(first)
    await first.stop()
    const foreign = new Database(path)
    foreign.exec('BEGIN IMMEDIATE')
    setTimeout(() => foreign.exec('COMMIT').close(), 4000)

    const second = await startDown()

    expect(await sinceIn(second)).toBe(before)
    expect(await second.stop()).toBe(0)
  }, 120_000)

  test('that another writer locks for seconds delays no poll, and gets all of them afterwards', async () => {
    const daemon = await start()
    await untilFigures(daemon, ({ written }) => written > 0, 'polls are written')
    const foreign = new Database(path)
    foreign.exec('BEGIN IMMEDIATE')
    const held: number[] = []

    const locked = await untilFigures(daemon, ({ degraded }) => degraded, 'it is reported')
    const later = await untilFigures(
      daemon,
      ({ queued, loopHeldMs }) => {
        held.push(loopHeldMs)
        return queued > locked.queued + 60
      },
      'polls wait',
    )
    foreign.exec('COMMIT')
    foreign.close()
    await untilFigures(daemon, ({ degraded, queued }) => !degraded && queued < 10, 'they are written')

    expect(later.failures.busy).toBeGreaterThan(0)
    expect(later.written).toBe(locked.written)
    expect(Math.max(...held)).toBeLessThan(300)
    const { polls, dropped } = await figuresOf(daemon)
    expect(dropped).toBe(0)
    expect(await daemon.stop()).toBe(0)
    expect(pollsIn(path)).toBeGreaterThanOrEqual(polls)
  }, 120_000)
})

describe('a store from a newer version', () => {
  test('ends the start with 78, and is not changed by a byte', async () => {
    takeOver('stopped')
    const newer = new Database(path)
    newer.pragma(`user_version = ${Number(newer.pragma('user_version', { simple: true })) + 1}`)
    newer.close()
    const before = readFileSync(path)

    const { status, err } = await runHeartline(['serve', '-c', join(folder, 'heartline.yaml')])

    expect(status).toBe(78)
    expect(err).toContain('use a newer Heartline')
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder).filter((name) => name.includes('corrupt'))).toEqual([])
  })
})
