import { describe, expect, test } from 'vitest'
import type { Note } from '../../src/core/incident/note.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, batchOf, DAY_MS } from './setting.ts'

function noteOf(id: string, wanted: Partial<Note> = {}): Note {
  return { id, incident: 'a', at: BASE, isPublic: false, text: `note ${id}`, ...wanted }
}

const engines = everyEngine()

describe('notes', () => {
  for (const { name, open } of engines) {
    test(`${name} are returned by incident, oldest first`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE }) })
      const notes = [noteOf('2', { at: BASE + 1, isPublic: true }), noteOf('1'), noteOf('3', { incident: 'b' })]

      for (const note of notes) store.saveNote(note)
      await store.flush()

      expect(await store.notes(['a'])).toEqual([notes[1], notes[0]])
      expect(await store.notes(['b', 'a'])).toEqual([notes[1], notes[2], notes[0]])
      expect(await store.notes(['none'])).toEqual([])
    })
  }

  for (const { name, bench } of engines) {
    test(`${name} are kept as long as hours are`, async () => {
      const parts = await bench({ rawMs: DAY_MS, fiveMinutesMs: DAY_MS, hourMs: 2 * DAY_MS })
      const notes = [noteOf('old'), noteOf('new', { at: BASE + 2 * DAY_MS })]
      const events = notes.map((note) => ({ kind: 'save-note', note }) as const)
      await parts.write(batchOf([], events))

      await parts.retain(BASE + 3 * DAY_MS)

      expect((await parts.read.notes(['a'])).map(({ id }) => id)).toEqual(['new'])
    })
  }
})
