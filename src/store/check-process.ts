import { CHECK_EXIT } from './check-apart.ts'
import { isSound, openReadOnly } from './database.ts'
import { troubleOf } from './trouble.ts'

/** Checks the store that it is told of, and says how it went by its exit status. */
process.exitCode = checked(process.argv[2] ?? '')

function checked(path: string): number {
  try {
    const db = openReadOnly(path)
    try {
      return isSound(db) ? CHECK_EXIT.sound : CHECK_EXIT.damaged
    } finally {
      db.close()
    }
  } catch (error) {
    return troubleOf(error) === 'corrupt' ? CHECK_EXIT.damaged : CHECK_EXIT.unreadable
  }
}
