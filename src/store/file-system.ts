import { mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from './store.ts'

/** What statfs(2) calls the kind of file system that a directory is on. */
export type FileSystemType = (directory: string) => number

export const fileSystemType: FileSystemType = (directory) => statfsSync(directory).type

/** NFS_SUPER_MAGIC of statfs(2). */
const NFS = 0x6969

/** Makes the directory of the store where it is missing, and refuses one on which SQLite would lose data. */
export function refuseNetworkDisk(path: string, typeOf: FileSystemType): void {
  const directory = dirname(path)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (typeOf(directory) !== NFS) return
  throw new StoreError(
    'network-disk',
    `${path} is on NFS: SQLite's write-ahead log needs memory that all its readers share, and locks that hold; use a local disk`,
  )
}

export function refusedAsReadOnly(path: string): StoreError {
  return new StoreError(
    'read-only',
    `${path} cannot be written: the disk is read-only, or the file or its directory is not this user's; ":memory:" needs no disk`,
  )
}
