import { integrityOf } from './database.ts'
import { EXIT } from './integrity.ts'

// The child process of `checkFile`: its exit status says what it found in the file that it is given.
process.exitCode = EXIT[integrityOf(process.argv[2] ?? '')]
