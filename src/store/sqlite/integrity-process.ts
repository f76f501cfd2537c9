import { openReadOnly } from './database.ts'
import { troubleOf } from './disk.ts'
import { EXIT, isSound } from './integrity.ts'

// The child process of `checkFile`: its exit status says what it found in the file that it is given.
process.exitCode = EXIT[integrityOf(process.argv[2] ?? '')]

function integrityOf(path: string): keyof typeof EXIT {
  try {
    const db = openReadOnly(path)
    try {
      return isSound(db) ? 'sound' : 'damaged'
    } finally {
      db.close()
    }
  } catch (error) {
    return troubleOf(error) === 'corrupt' ? 'damaged' : 'unreadable'
  }
}
