import type { StoreTrouble } from './store.ts'

/** What an error of SQLite or of the file system means to us. */
export function troubleOf(error: unknown): StoreTrouble {
  const code = codeOf(error)
  // A full disk shows here as well, when the WAL's index in shared memory has to grow.
  if (code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE' || code === 'ENOSPC' || code === 'EDQUOT') {
    return 'full'
  }
  // Making a directory on a read-only disk is ENOENT to Node, when it is told to make its parents, too; EEXIST is a file there.
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

/** The code alone: messages may hold paths and values. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown'
}
