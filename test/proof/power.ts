import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { bundled } from '../support/bundled.ts'
import { compileFaults } from './faults.ts'
import { lastAcknowledged, readWritten, UNLIMITED } from './written.ts'

/**
 * A power cut, replayed. One child writes to a store while everything that it does to its files is taken down. From that, the
 * disk is made as a power cut at some moment could have left it: what came before the last fsync of a file is there; of what
 * came after, anything may be.
 */
export interface PowerCut {
  readonly how: Loss
  /** Whole transactions, the first ones. */
  readonly whole: boolean
  readonly sound: boolean
  readonly acknowledged: number
  /** Acknowledged, and not there. */
  readonly lost: number
  /** Of those, acknowledged before an fsync that would have kept them: must be 0. */
  readonly lostThoughSynced: number
}

/** What can happen to writes that were not synced: they are cut at a byte, end in wrong bytes, miss sectors, or are lost. */
export const LOSSES = ['torn', 'scrambled', 'holes', 'none'] as const
export type Loss = (typeof LOSSES)[number]

export interface Call {
  readonly call: 'w' | 's' | 't'
  readonly atMs: number
  readonly file: string
  readonly offset: number
  readonly data: Buffer
}

const CHILD = fileURLToPath(new URL('./children/write.ts', import.meta.url))
const SECTOR = 512

/** Lets a child write so many batches, and says what it did to the disk. */
export async function recordWrites(directory: string, batches: number): Promise<readonly Call[]> {
  const library = compileFaults(directory)
  const disk = join(directory, 'disk')
  mkdirSync(disk)
  const path = join(disk, 'store.db')
  // What a new file goes through before it is in WAL mode is not asked here.
  openDatabase(path, readMigrations(SQLITE_MIGRATIONS), UNLIMITED).db.close()
  const made = { atMs: 0, file: 'store.db', offset: 0 } as const
  const begun: readonly Call[] = [
    { ...made, call: 'w', data: readFileSync(path) },
    { ...made, call: 's', data: Buffer.alloc(0) },
  ]
  const log = join(disk, 'writes')
  const args = [await bundled(CHILD), path, join(disk, 'side'), '0', String(batches)]
  const env = { ...process.env, LD_PRELOAD: library, HEARTLINE_WRITES: log }
  const [status, signal] = (await once(spawn(process.execPath, args, { env, stdio: 'inherit' }), 'exit')) as unknown[]
  if (signal !== 'SIGKILL') throw new Error(`the child ended with ${String(status)}`)
  return [...begun, ...callsIn(readFileSync(log))]
}

/** What faults.c took down. */
export function* callsIn(log: Buffer): Generator<Call> {
  const field = (at: number, number: number) => Number(log.readBigInt64LE(at + number * 8))
  for (let at = 0; at < log.length; ) {
    const call = String.fromCharCode(field(at, 0)) as Call['call']
    const name = at + 40
    const data = name + field(at, 2)
    const end = data + field(at, 4)
    const atMs = field(at, 1) / 1000
    yield { call, atMs, file: log.toString('utf8', name, data), offset: field(at, 3), data: log.subarray(data, end) }
    at = end
  }
}

/** The longest time that something written to the file was not synced. */
export function longestUnsyncedMs(calls: Iterable<Call>, file: string): number {
  let since: number | null = null
  let longest = 0
  for (const { call, file: of, atMs } of calls) {
    if (of !== file) continue
    if (call === 'w') since ??= atMs
    if (since !== null) longest = Math.max(longest, atMs - since)
    if (call === 's') since = null
  }
  return longest
}

interface CutOptions {
  readonly cases: number
  readonly directory: string
  readonly random: () => number
  /** A disk that pretends to sync the database: it shows that these tests can fail. */
  readonly lying?: boolean
}

/** Cuts the power so many times, at moments spread over all calls. */
export function* cutPower(
  calls: readonly Call[],
  { cases, directory, random, lying = false }: CutOptions,
): Generator<PowerCut> {
  const database = createDiskFile()
  const wal = createDiskFile()
  let side = ''
  let acknowledged = 0
  let synced = 0
  let next = 0
  const first = calls.findIndex(({ file }) => file === 'store.db-wal')
  for (let cut = 0; cut < cases; cut++) {
    const moment = Math.floor(first + ((cut + random()) / cases) * (calls.length - first))
    for (; next < moment; next++) {
      const call = calls[next]
      if (call?.file === 'store.db' && !(lying && next > first && call.call === 's')) database.apply(call)
      if (call?.file === 'store.db-wal') wal.apply(call)
      if (call?.file === 'store.db-wal' && call.call === 's') synced = acknowledged
      if (call?.file !== 'side') continue
      // The first line says how long opening took.
      side += call.data.toString()
      acknowledged = lastAcknowledged(side) + 1
    }
    const how = LOSSES[cut % LOSSES.length] ?? 'none'
    const path = join(directory, `cut-${cut}.db`)
    writeFileSync(path, database.afterLoss(how, random))
    writeFileSync(`${path}-wal`, wal.afterLoss(how, random))
    const { sound, polls, whole } = readWritten(path)
    for (const part of ['', '-wal', '-shm']) rmSync(path + part, { force: true })
    yield {
      how,
      whole,
      sound,
      acknowledged,
      lost: Math.max(0, acknowledged - polls),
      lostThoughSynced: Math.max(0, synced - polls),
    }
  }
}

interface DiskFile {
  apply(call: Call): void
  afterLoss(how: Loss, random: () => number): Buffer
}

/** What is surely on disk of a file, and what may be. */
function createDiskFile(): DiskFile {
  const sure = createImage(Buffer.alloc(0))
  let pending: Call[] = []
  return {
    apply(call) {
      if (call.call !== 's') {
        pending.push(call)
        return
      }
      for (const done of pending) sure.apply(done)
      pending = []
    },
    afterLoss(how, random) {
      const image = createImage(sure.bytes())
      if (how === 'none') return image.bytes()
      if (how === 'holes') {
        for (const sector of pending.flatMap(sectorsOf)) if (random() < 0.7) image.apply(sector)
        return image.bytes()
      }
      const kept = pending.slice(0, Math.ceil(random() * pending.length))
      for (const [at, call] of kept.entries()) {
        if (at < kept.length - 1 || call.call === 't') image.apply(call)
        else image.apply(how === 'torn' ? tornAt(call, random()) : scrambled(call, random))
      }
      return image.bytes()
    },
  }
}

function createImage(begun: Buffer) {
  let room = Buffer.alloc(Math.max(65_536, begun.length * 2))
  let size = begun.copy(room)
  return {
    apply({ call, offset, data }: Call): void {
      const end = call === 't' ? offset : offset + data.length
      if (end > room.length) room = Buffer.concat([room], end * 2)
      if (call === 'w') data.copy(room, offset)
      if (call === 't') room.fill(0, Math.min(end, size), Math.max(end, size))
      size = call === 't' ? end : Math.max(size, end)
    },
    bytes: () => room.subarray(0, size),
  }
}

function tornAt(call: Call, share: number): Call {
  return { ...call, data: call.data.subarray(0, Math.floor(share * call.data.length)) }
}

function scrambled(call: Call, random: () => number): Call {
  const data = Buffer.from(call.data)
  const from = Math.floor(random() * data.length)
  for (let at = from; at < Math.min(data.length, from + 64); at++) data[at] = Math.floor(random() * 256)
  return { ...call, data }
}

/** A disk writes sectors whole, in an order of its own: of any two, either may be there without the other. */
function sectorsOf(call: Call): Call[] {
  if (call.call === 't') return [call]
  const sectors: Call[] = []
  let from = 0
  while (from < call.data.length) {
    const to = Math.min(call.data.length, from + SECTOR - ((call.offset + from) % SECTOR))
    sectors.push({ ...call, offset: call.offset + from, data: call.data.subarray(from, to) })
    from = to
  }
  return sectors
}
