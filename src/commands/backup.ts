import { existsSync } from 'node:fs'
import { backupStore } from '../store/sqlite/backup.ts'
import { readConfig } from './check-config.ts'
import { type CommandIo, EXIT } from './io.ts'

/** Writes a consistent copy of the configured store, even while a daemon has it open. */
export async function backup(
  { file, to }: { readonly file: string; readonly to: string },
  io: CommandIo,
): Promise<number> {
  if (to === '') {
    io.err('heartline: backup: expected the name of a file')
    return EXIT.usage
  }
  const loaded = readConfig(file, io)
  if (loaded === null) return EXIT.badConfig
  const { path, url } = loaded.config.store
  if (url !== null) {
    io.err('heartline: store.url: back up a PostgreSQL database with its own tools, such as pg_dump')
    return EXIT.badConfig
  }
  if (path === ':memory:') {
    io.err('heartline: store.path: a store in memory cannot be backed up')
    return EXIT.badConfig
  }
  if (!existsSync(path)) {
    io.err('heartline: backup failed: store.path: there is no such file; the daemon makes it when it starts')
    return EXIT.software
  }
  if (existsSync(to)) {
    io.err(`heartline: ${to} exists; a backup never overwrites a file`)
    return EXIT.usage
  }
  try {
    await backupStore(path, to)
  } catch (error) {
    io.err(`heartline: backup failed: ${error instanceof Error ? error.message : String(error)}`)
    return EXIT.software
  }
  io.out(`${to}: consistent copy, verified`)
  return EXIT.ok
}
