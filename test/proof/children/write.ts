import { appendFileSync } from 'node:fs'
import { systemClock } from '../../../src/clock.ts'
import { incidentAt, pollAt, RETENTION, ROWS_IN_BATCH, UNLIMITED, WRITTEN_ENDPOINT } from '../written.ts'

/**
 * Writes polls, and with each batch an incident and what its endpoint must remember, until it is killed or has written so
 * many batches. What was acknowledged goes to a side file: how long opening took, then each batch's last poll.
 */
const [path = '', side = '', first = '0', batches = 'Infinity', from = 'src'] = process.argv.slice(2)
const built = new URL('../../../dist/modules/src/store/open-store.js', import.meta.url).href
const { openStore }: typeof import('../../../src/store/open-store.ts') =
  from === 'dist' ? await import(built) : await import('../../../src/store/open-store.ts')

const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const startedAt = systemClock.monotonic()
const store = await openStore({ path, retention: RETENTION, maxSizeBytes: UNLIMITED, clock: systemClock, log })
appendFileSync(side, `${(systemClock.monotonic() - startedAt).toFixed(1)}\n`)
store.register([{ endpoint: WRITTEN_ENDPOINT, holdMs: 2000 }], 0)

let number = Number(first)
for (let batch = 0; batch < Number(batches); batch++) {
  for (let row = 0; row < ROWS_IN_BATCH; row++) store.poll(pollAt(number++))
  store.saveHealth({ endpoint: WRITTEN_ENDPOINT, at: number - 1, value: number - 1 })
  store.saveIncident(incidentAt(number - 1))
  await store.flush()
  const { trouble, rowsWritten } = store.status()
  if (trouble !== null || rowsWritten !== number - Number(first)) throw new Error(`not written: ${trouble}`)
  appendFileSync(side, `${number - 1}\n`)
}
// As a process that has no time to close anything.
process.kill(process.pid, 'SIGKILL')
