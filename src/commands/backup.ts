import { existsSync } from 'node:fs'
import { backupStore } from '../store/backup.ts'
import { type CommandIo, EXIT } from './io.ts'
import { readConfig } from './read-config.ts'

/** A consistent copy of the store that the configuration names, whether a daemon has it open or not. */
export async function backup(
  { file, to }: { readonly file: string; readonly to: string },
  io: CommandIo,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const loaded = readConfig(file, io, env)
  if (loaded === null) return EXIT.badConfig
  const { path } = loaded.config.store
  if (path === ':memory:') {
    io.err('heartline: store.path: a store in memory cannot be copied from outside')
    return EXIT.badConfig
  }
  if (existsSync(to)) {
    io.err(`heartline: ${to} exists; a backup never replaces a file`)
    return EXIT.usage
  }
  try {
    await backupStore(path, to)
  } catch (error) {
    io.err(`heartline: no backup was made: ${error instanceof Error ? error.message : String(error)}`)
    return EXIT.software
  }
  io.out(`${to}: a consistent copy, checked`)
  return EXIT.ok
}
