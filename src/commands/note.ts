import { NoteView } from '../http/wire/incidents.ts'
import { askDaemon } from './ask-daemon.ts'
import type { CommandIo } from './io.ts'

export interface NoteOptions {
  readonly file: string
  /** Its id. */
  readonly incident: string
  readonly text: string
  readonly isPublic: boolean
}

/** Adds a note to an incident, by the running daemon. */
export async function note({ file, incident, text, isPublic }: NoteOptions, io: CommandIo) {
  const path = `/api/v1/incidents/${encodeURIComponent(incident)}/notes`
  const ask = { method: 'POST', path, body: { text, public: isPublic }, shape: NoteView } as const
  return askDaemon(file, ask, io, (added) => {
    return added.public ? 'added, readable by everyone who can see the page' : 'added, readable with the token only'
  })
}
