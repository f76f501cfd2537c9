import { expect, test } from 'vitest'
import { earlierIncidents } from '../../src/poll/incident-recorder.ts'
import { opened } from '../store/setting.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'

test('all open incidents are loaded, even after thousands of endpoints went down', async () => {
  const { store } = await opened({ path: ':memory:' })
  for (let number = 0; number < 2500; number++) {
    const of = { id: `open-${number}`, endpoint: `e-${number}`, openedAt: START + (number % 7) }
    store.saveIncident(incidentRecord(incident(of)))
  }
  for (let number = 0; number < 1200; number++) {
    const [openedAt, closedAt] = [START + number * 1000, START + number * 1000 + 500]
    store.saveIncident(incidentRecord(incident({ id: `closed-${number}`, openedAt, closedAt })))
  }
  await store.flush()

  const found = await earlierIncidents(store)

  const open = found.filter(({ closedAt }) => closedAt === null)
  expect(new Set(open.map(({ id }) => id)).size).toBe(2500)
  expect(open).toHaveLength(2500)
  const closed = found.filter(({ closedAt }) => closedAt !== null)
  expect(closed).toHaveLength(1000)
  expect(closed[0]?.id).toBe('closed-1199')
})
