import { expect, test } from 'vitest'
import { createJournal } from '../../src/state/journal.ts'
import { createFakeClock } from '../support/fake-clock.ts'

test('a trouble is one entry from when it is first told until it is told no more', async () => {
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

test('the first run of all tells of no absence, and a hold too short to miss anything is none', () => {
  const journal = createJournal({ clock: createFakeClock() })

  journal.started(0)
  journal.held(400)

  expect(journal.entries().map(({ kind }) => kind)).toEqual(['start'])
})

test('of very many entries the latest are kept', () => {
  const journal = createJournal({ clock: createFakeClock() })

  for (let second = 1; second <= 1000; second++) journal.stepped(second * 1000)

  expect(journal.entries()).toHaveLength(200)
  expect(journal.entries().map(({ text }) => text)).toContain("this machine's clock was set forward by 16 min")
  expect(journal.entries().map(({ text }) => text)).not.toContain("this machine's clock was set forward by 1 s")
})
