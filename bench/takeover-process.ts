import { systemClock } from '../src/clock.ts'
import { Secret } from '../src/secret.ts'
import { createClusterTables } from '../src/store/postgres/cluster-tables.ts'
import { openDatabase } from '../src/store/postgres/migrate.ts'
import { createPollingMember } from '../test/support/polling-member.ts'

/** One member in each of many places, with polls that are made up; for `takeover.ts`, which kills it. */
const [, , url = '', vantages = '1', leaseMs = '15000'] = process.argv

const tables = createClusterTables(await openDatabase({ url: new Secret(url), clock: systemClock }))
for (let at = 0; at < Number(vantages); at++) {
  const vantage = `v${at}`
  const member = createPollingMember({
    id: `victim-${vantage}`,
    vantage,
    clock: systemClock,
    tables,
    leaseMs: Number(leaseMs),
    networks: ['n'],
  })
  void member.start()
  // Renewals of different members are not in step.
  await systemClock.sleep(Number(leaseMs) / 3 / Number(vantages))
}
setInterval(() => undefined, 60_000)
process.send?.('started')
