import { systemClock } from '../../../src/clock.ts'
import type { Incident } from '../../../src/core/incident/incident.ts'
import { createNotifier } from '../../../src/notify/notifier.ts'
import { createSilences } from '../../../src/notify/silences.ts'
import { Secret } from '../../../src/secret.ts'
import { createBoard } from '../../../src/state/board.ts'
import { createIncidentLog, readIncident } from '../../../src/state/incident-log.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { change, condition, incident, incidentRecord } from '../../support/incident.ts'
import { RETENTION, UNLIMITED } from '../written.ts'

/**
 * Opens and closes incidents one after the other, and tells a webhook about them, until it is killed or all are closed and
 * sent. It continues with what an earlier process has stored.
 */
const [path = '', url = '', incidentCount = '0', everyMs = '40'] = process.argv.slice(2)
const clock = systemClock
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
/** So many are open at a time. */
const OPEN_AT_ONCE = 4

const store = await openStore({ path, retention: RETENTION, maxSizeBytes: UNLIMITED, clock, log })
const incidents = createIncidentLog()
const known = new Map<string, Incident>()
for (const { value } of await store.incidents({ limit: 100_000 })) {
  const read = readIncident(value)
  if (read === null) throw new Error('an incident cannot be read')
  known.set(read.id, read)
  if (read.closedAt === null) incidents.put(read)
}
const notifier = createNotifier({
  clock,
  log,
  store,
  incidents,
  board: createBoard(),
  silences: createSilences({ clock, store, log }),
  trouble: () => [],
  polls: () => ({ firstRoundDone: true, lateMs: 0 }),
  random: Math.random,
})
const target = { type: 'webhook', url: new Secret(url), secret: null } as const
const channel = { name: 'hook', minState: 'degraded', repeatMs: null, groupWaitMs: 60, ca: null, target } as const
notifier.configure({ channels: [channel], routes: null, ratePerMinute: 10_000, heartbeat: null }, null)
await notifier.restore()
notifier.start()
process.send?.('ready')

function put(next: Incident): void {
  known.set(next.id, next)
  incidents.put(next)
  store.saveIncident(incidentRecord(next), notifier.changed(next))
}

function step(nth: number): boolean {
  const old = known.get(`i-${nth - OPEN_AT_ONCE}`)
  const now = clock.now()
  if (old?.closedAt === null) {
    const up = change({ at: now, state: 'up', codes: [] })
    put({ ...old, closedAt: now, changes: [...old.changes, up], conditions: [condition({ until: now })] })
    return true
  }
  if (nth >= Number(incidentCount) || known.has(`i-${nth}`)) return false
  put(incident({ id: `i-${nth}`, endpoint: `own-${nth}`, openedAt: now, changes: [change({ at: now })] }))
  return true
}

for (let nth = 0; nth < Number(incidentCount) + OPEN_AT_ONCE; ) {
  if (step(nth)) await clock.sleep(Number(everyMs))
  else nth++
}
while (notifier.status().waiting.length > 0) await clock.sleep(20)
await store.flush()
process.exit(0)
