import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { StoreError, type StoreTrouble } from '../store.ts'

/** Classifies an error of SQLite or of the file system. */
export function troubleOf(error: unknown): StoreTrouble {
  const code = codeOf(error)
  // A full disk also causes SHMSIZE, when the WAL's index in shared memory has to grow.
  if (code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE' || code === 'ENOSPC' || code === 'EDQUOT') {
    return 'full'
  }
  // SQLite reports a lack of free file descriptors like a file that may not be opened, or not be written.
  if (/^SQLITE_(CANTOPEN|READONLY)/.test(code) && lacksDescriptors()) return 'other'
  // Node reports ENOENT for a new directory and its parents on a read-only disk, EEXIST if a file is in the way.
  if (
    /^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|SQLITE_AUTH|EROFS|EACCES|EPERM|ENOENT|ENOTDIR|EEXIST)/.test(code)
  ) {
    return 'read-only'
  }
  if (/^(SQLITE_BUSY|SQLITE_LOCKED|EBUSY)/.test(code)) return 'busy'
  if (/^(SQLITE_IOERR|EIO)/.test(code)) return 'io'
  if (/^(SQLITE_CORRUPT|SQLITE_NOTADB)/.test(code)) return 'corrupt'
  return 'other'
}

/** More than SQLite has open of one database: it has closed its own when it reports an error. */
const DESCRIPTORS_OF_A_DATABASE = 8

function lacksDescriptors(): boolean {
  const open: number[] = []
  try {
    while (open.length < DESCRIPTORS_OF_A_DATABASE) open.push(openSync('/dev/null', 'r'))
    return false
  } catch (error) {
    return codeOf(error) === 'EMFILE' || codeOf(error) === 'ENFILE'
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

/** Returns only the error's code or name, because messages may contain paths and values. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown'
}

/** Returns the type of the directory's file system, as numbered in statfs(2). */
export type FileSystemType = (directory: string) => number

export const fileSystemType: FileSystemType = (directory) => statfsSync(directory).type

/** The type of NFS in statfs(2). */
const NFS = 0x6969

/** Makes the store's directory if it is missing; throws a StoreError if SQLite would lose data there. */
export function refuseNetworkDisk(path: string, typeOf: FileSystemType): void {
  makeDirectoryOf(path)
  if (typeOf(dirname(path)) !== NFS) return
  throw new StoreError(
    'network-disk',
    `${path} is on NFS, which has neither the shared memory nor the reliable locks that SQLite's write-ahead log needs: use a local disk`,
  )
}

/** Not `recursive`: Node loops for ever where a folder that exists refuses new ones with ENOENT, as /proc does. */
export function makeDirectoryOf(path: string): void {
  const directory = dirname(path)
  if (existsSync(directory)) return
  makeDirectoryOf(directory)
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(directory)) throw error
  }
}

export function refusedAsReadOnly(path: string): StoreError {
  return new StoreError(
    'read-only',
    `${path} cannot be written: the disk is read-only, or this user does not own the file or its directory; ":memory:" needs no disk`,
  )
}

/** As many as Linux follows. */
const MOST_LINKS = 40

/**
 * Returns the file that symbolic links lead to, which need not exist. SQLite has its write-ahead log beside that file, not
 * beside the link, and two daemons may use different links.
 */
export function followLinks(path: string): string {
  let file = path
  for (let followed = 0; followed < MOST_LINKS; followed++) {
    try {
      file = resolve(realpathSync(dirname(file)), readlinkSync(file))
    } catch {
      return file
    }
  }
  return path
}

export interface StoreLock {
  release(): void
}

/**
 * Limits a store to one daemon, by an exclusive transaction on a file beside it, which the kernel releases when the
 * process ends for any reason. Throws a StoreError if another process holds the lock.
 */
export function takeLock(path: string): StoreLock {
  makeDirectoryOf(path)
  const db = new Database(`${path}.lock`, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (troubleOf(error) === 'busy') throw new StoreError('store-in-use', 'the store is in use by another daemon')
    throw error
  }
  return { release: () => db.close() }
}

/** On a full disk SQLite cannot even delete; removing this reserve file frees the space to do so. */
const RESERVE_BYTES = 2 * 1024 * 1024
/** The reserve itself must not fill the disk. */
const FREE_BYTES_FOR_RESERVE = 8 * RESERVE_BYTES

export function keepReserve(path: string, freeBytes: number): void {
  const file = `${path}.reserve`
  if (freeBytes < FREE_BYTES_FOR_RESERVE || existsSync(file)) return
  try {
    writeFileSync(file, Buffer.alloc(RESERVE_BYTES, 1), { mode: 0o600 })
  } catch {
    // Another process took the space in the meantime.
    releaseReserve(path)
  }
}

export function releaseReserve(path: string): void {
  rmSync(`${path}.reserve`, { force: true })
}
