import { appendFileSync } from 'node:fs'
import { systemClock } from '../../../src/clock.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { lines, pollOf, RETENTION } from '../setting.ts'

/** Writes polls until it is killed; every acknowledged poll is also appended to a side file. */
const [path = '', side = '', start = '0'] = process.argv.slice(2)
const log = lines()
const store = await openStore({ path, retention: RETENTION, maxSizeBytes: 2 ** 40, clock: systemClock, log })
store.register([{ endpoint: 'ethereum/own-1', holdMs: 30_000 }], Number(start))
let at = Number(start)
for (;;) {
  for (let row = 0; row < 20; row++) store.poll(pollOf(++at))
  await store.flush()
  const { trouble, rowsWritten } = store.status()
  if (trouble !== null || rowsWritten !== at - Number(start)) throw new Error(`not written: ${trouble}`)
  appendFileSync(side, `${at}\n`)
}
