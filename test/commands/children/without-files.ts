import { openSync } from 'node:fs'
import { systemClock } from '../../../src/clock.ts'
import { createServiceManager } from '../../../src/commands/service-manager.ts'

/** A service manager in a process that has no file descriptor left, for a second and a half. */
const quiet = () => {}
const warn = (fields: object) => console.error(JSON.stringify(fields))
const log = { debug: quiet, info: quiet, warn, error: warn }
const manager = createServiceManager({ env: process.env, clock: systemClock, log, pid: process.pid })
try {
  for (;;) openSync('/dev/null', 'r')
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error
}
manager.ready('well')
setTimeout(() => manager.stopping(), 500)
setTimeout(() => {}, 1500)
