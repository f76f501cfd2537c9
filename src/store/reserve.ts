import { existsSync, rmSync, writeFileSync } from 'node:fs'

/**
 * A file that only takes up room. On a full disk SQLite cannot even delete, since that writes too: letting go of the
 * reserve gives it what it needs to make room for itself.
 */
const RESERVE_BYTES = 2 * 1024 * 1024
/** The reserve must not be what fills the disk. */
const ROOM_FOR_RESERVE = 8 * RESERVE_BYTES

export function keepReserve(path: string, freeBytes: number): void {
  const file = `${path}.reserve`
  if (freeBytes < ROOM_FOR_RESERVE || existsSync(file)) return
  try {
    writeFileSync(file, Buffer.alloc(RESERVE_BYTES, 1), { mode: 0o600 })
  } catch {
    // Somebody else took the room just now.
    releaseReserve(path)
  }
}

export function releaseReserve(path: string): void {
  rmSync(`${path}.reserve`, { force: true })
}
