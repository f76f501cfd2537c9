import { expect, test } from 'vitest'
import { createJournal } from '../../src/state/observer-journal.ts'
import { createFakeClock } from '../support/fake-clock.ts'

test('a trouble is one entry, from its first report to its last', async () => {
  const clock = createFakeClock()
  const journal = createJournal({ clock })
  const begun = clock.now()

  journal.troubles(['no network'])
  await clock.advance(1000)
  journal.troubles(['no network'])

  expect(journal.entries()).toEqual([{ kind: 'trouble', from: begun, until: null, text: 'no network' }])
  await clock.advance(1000)
  journal.troubles([])
  expect(journal.entries()).toEqual([{ kind: 'trouble', from: begun, until: begun + 2000, text: 'no network' }])
})

test('the very first run reports no absence, and a short pause is not an entry', () => {
  const journal = createJournal({ clock: createFakeClock() })

  journal.started(0)
  journal.held(400)

  expect(journal.entries().map(({ kind }) => kind)).toEqual(['start'])
})

test('only the latest of many entries are kept', () => {
  const journal = createJournal({ clock: createFakeClock() })

  for (let second = 1; second <= 1000; second++) journal.stepped(second * 1000)

  expect(journal.entries()).toHaveLength(200)
  expect(journal.entries().map(({ text }) => text)).toContain("this machine's clock was set forward by 16 min")
  expect(journal.entries().map(({ text }) => text)).not.toContain("this machine's clock was set forward by 1 s")
})
