import { existsSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { Secret } from '../secret.ts'
import { copyStore } from '../store/copy-store.ts'
import { StoreError } from '../store/store.ts'
import { type CommandIo, EXIT, statusOfRefusal } from './io.ts'

/** Copies a history from SQLite to PostgreSQL. Run again after it was stopped, it goes on where it was. */
export async function migrateStore(
  { from, to = '' }: { readonly from: string; readonly to?: string | undefined },
  io: CommandIo,
): Promise<number> {
  if (!existsSync(from)) {
    io.err(`heartline: ${from} does not exist`)
    return EXIT.usage
  }
  if (to === '') {
    io.err('heartline: --to or DATABASE_URL is missing')
    return EXIT.usage
  }
  try {
    const isComplete = await copyStore({
      file: from,
      url: new Secret(to),
      clock: systemClock,
      signal: io.signal,
      onTable: ({ table, rows }) => io.out(`${table}: ${rows} rows, counts and sums agree`),
    })
    io.out(isComplete ? 'the history is copied: set store.url' : 'stopped: run it again to go on')
    return isComplete ? EXIT.ok : EXIT.software
  } catch (error) {
    io.err(`heartline: ${error instanceof Error ? error.message : 'the copy failed'}`)
    return error instanceof StoreError ? statusOfRefusal(error) : EXIT.software
  }
}
