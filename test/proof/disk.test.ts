import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RunningDaemon, runHeartline, startDaemon, until } from '../support/daemon.ts'
import { mayMount } from '../support/mount.ts'
import { canBreakDisks, createFaultyDisk, type FaultyDisk } from './faults.ts'
import { type Figures, figuresOf, pollsIn, startNodes, untilFigures, type WatchedNodes } from './watched.ts'

let nodes: WatchedNodes
let directory: string
beforeAll(async () => {
  nodes = await startNodes()
})
afterAll(() => nodes.stop())
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** What must go on whatever the disk does: polls, their verdicts, the page. */
async function expectItGoesOn(daemon: RunningDaemon): Promise<void> {
  const { polls } = await figuresOf(daemon)
  const { loopHeldMs } = await untilFigures(daemon, (figures) => figures.polls > polls + 10, 'polls go on')
  expect(loopHeldMs).toBeLessThan(300)
  // On a busy machine a poll may be slow.
  await until(async () => (await daemon.status()).networks[0]?.state === 'up', 'the network is up')
  expect((await daemon.get('/')).status).toBe(200)
}

/** After it is stopped, every poll that it made until then is on disk. */
async function expectNothingIsLost(daemon: RunningDaemon, path: string): Promise<void> {
  const { polls, dropped } = await figuresOf(daemon)
  expect(await daemon.stop()).toBe(0)
  expect(dropped).toBe(0)
  expect(pollsIn(path)).toBeGreaterThanOrEqual(polls)
}

describe.skipIf(!canBreakDisks())('a disk on which', () => {
  let library: string
  let disk: FaultyDisk
  let daemon: RunningDaemon | null = null
  let path: string
  beforeAll(() => {
    library = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
    disk = createFaultyDisk(library)
  })
  afterAll(() => rmSync(library, { recursive: true, force: true }))
  afterEach(async () => {
    await daemon?.stop('SIGKILL')
    daemon = null
    disk.mend()
  })

  async function start(more: object = {}): Promise<RunningDaemon> {
    const folder = join(directory, 'disk')
    mkdirSync(folder)
    path = join(folder, 'heartline.db')
    daemon = await startDaemon({ ...nodes.config, ...more }, { folder, env: disk.env })
    await untilFigures(daemon, ({ written }) => written > 0, 'polls are written')
    return daemon
  }

  for (const { what, reason, part } of [
    // The WAL's index has to grow as well, and SQLite reports any error there as a full disk.
    { what: 'EIO', reason: 'io', part: '/heartline.db-wal' },
    { what: 'ENOSPC', reason: 'full', part: '/heartline.db' },
  ] as const) {
    test(`every write fails with ${what} delays polls on their way to the disk, and nothing else`, async () => {
      const daemon = await start()

      disk.break(what, 'w', part)
      const isTold = ({ degraded, judging, queued }: Figures) => degraded && judging && queued > 0
      const broken = await untilFigures(daemon, isTold, 'it is reported')
      await expectItGoesOn(daemon)
      const later = await figuresOf(daemon)
      disk.mend()
      await untilFigures(daemon, ({ degraded, queued }) => !degraded && queued < 10, 'it heals by itself')

      expect(broken.failures[reason]).toBeGreaterThan(0)
      expect(later.written).toBe(broken.written)
      expect(later.queued).toBeGreaterThan(broken.queued)
      expect(later.integrityOk).toBe(true)
      await expectNothingIsLost(daemon, path)
    }, 120_000)
  }

  test('every write fails keeps no message back: Heartline says that it is impaired, and what it sees', async () => {
    const told: string[] = []
    const sink = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        told.push((JSON.parse(Buffer.concat(chunks).toString()) as { type: string }).type)
        response.end()
      })
    })
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
    const [node] = nodes.nodes
    try {
      const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`
      const notify = { group_wait: '100ms', channels: [{ name: 'hook', type: 'webhook', url }] }
      await start({ notify, poll: { interval: '500ms', timeout: '500ms' } })

      disk.break('ENOSPC', 'w', '/heartline.db')
      await until(() => told.includes('heartline.impaired'), 'the full disk is reported')
      node?.inject({ kind: 'garbage' })
      await until(() => told.includes('incident.opened'), 'an incident is reported meanwhile')
      disk.mend()
      node?.heal()
      await until(() => told.includes('heartline.recovered'), 'the end is reported')
      await until(() => told.includes('incident.closed'), 'the end of the incident is reported')

      expect(told.filter((type) => type.startsWith('heartline'))).toEqual(['heartline.impaired', 'heartline.recovered'])
    } finally {
      node?.heal()
      sink.closeAllConnections()
      sink.close()
    }
  }, 240_000)

  test('fsync fails acknowledges no more polls, and reports it', async () => {
    const daemon = await start()

    disk.break('EIO', 's', '/heartline.db')
    const broken = await untilFigures(
      daemon,
      ({ degraded, queued }) => degraded && queued > 0,
      'it is reported',
      25_000,
    )
    await expectItGoesOn(daemon)
    const later = await figuresOf(daemon)
    disk.mend()
    await untilFigures(daemon, ({ degraded, queued }) => !degraded && queued < 10, 'it heals by itself')

    expect(later.failures.io).toBeGreaterThan(0)
    expect(later.written).toBe(broken.written)
    await expectNothingIsLost(daemon, path)
  }, 120_000)
})

describe.skipIf(!mayMount())('a real disk', () => {
  test('that is full releases the reserve; then polls wait, and are written when there is room again', async () => {
    const folder = join(directory, 'disk')
    mkdirSync(folder)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder])
    let daemon: RunningDaemon | null = null
    try {
      daemon = await startDaemon(nodes.config, { folder })
      const path = join(folder, 'heartline.db')
      await untilFigures(daemon, ({ written }) => written > 0 && existsSync(`${path}.reserve`), 'polls are written')
      const filler = join(folder, 'filler')

      await untilFigures(
        daemon,
        ({ degraded }) => {
          fill(filler)
          return degraded
        },
        'it is reported',
        // Writes succeed until the WAL needs more room than it has; SQLite starts it again after a checkpoint, every ten seconds.
        60_000,
      )
      expect(existsSync(`${path}.reserve`)).toBe(false)
      await expectItGoesOn(daemon)
      rmSync(filler)
      const { failures } = await untilFigures(daemon, ({ degraded, queued }) => !degraded && queued < 10, 'it heals')

      expect(failures.full).toBeGreaterThan(0)
      await expectNothingIsLost(daemon, path)
    } finally {
      await daemon?.stop('SIGKILL')
      execFileSync('umount', ['-l', folder])
    }
  }, 120_000)

  test('that is read-only ends the start with 78 and a message, and leaves the store unchanged', async () => {
    const folder = join(directory, 'disk')
    mkdirSync(folder)
    const path = join(folder, 'heartline.db')
    const before = await startDaemon(nodes.config, { folder })
    await untilFigures(before, ({ written }) => written > 0, 'polls are written')
    expect(await before.stop()).toBe(0)
    const rows = pollsIn(path)
    const was = readFileSync(path)
    execFileSync('mount', ['--bind', folder, folder])
    try {
      execFileSync('mount', ['-o', 'remount,bind,ro', folder])

      const startedAt = performance.now()
      const { status, err } = await runHeartline(['serve', '-c', join(folder, 'heartline.yaml')])

      expect(status).toBe(78)
      expect(err).toMatch(/store\.path: .*(read-only|written)/)
      expect(performance.now() - startedAt).toBeLessThan(20_000)
    } finally {
      execFileSync('umount', ['-l', folder])
    }
    expect(readFileSync(path).equals(was)).toBe(true)
    expect(pollsIn(path)).toBe(rows)
  }, 120_000)
})

function fill(file: string): void {
  for (const size of [256 * 1024, 4096, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size, 1), { flag: 'a' })
    } catch {
      // That is the point.
    }
  }
}
