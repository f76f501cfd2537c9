import { renameSync, writeFileSync } from 'node:fs'
import { systemClock } from '../../../src/clock.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { backupStore } from '../../../src/store/sqlite/backup.ts'
import { RETENTION, UNLIMITED } from '../written.ts'

/** Opens a store, lets the disk take so many calls more, and works on it until it is killed, or has ended well. */
const [path = '', work = '', now = '', rule = '', copy = ''] = process.argv.slice(2)
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = { ...systemClock, now: () => Number(now) }
const store = await openStore({ path, retention: RETENTION, maxSizeBytes: UNLIMITED, clock, log })

const faults = process.env.HEARTLINE_FAULT ?? ''
writeFileSync(`${faults}.next`, rule)
renameSync(`${faults}.next`, faults)
if (work === 'backup') await backupStore(path, copy)
else if (work === 'retention' && !(await store.run('retention', clock.now())))
  throw new Error('the job did not end well')
else if (work === 'close') await store.close()
process.exit(0)
