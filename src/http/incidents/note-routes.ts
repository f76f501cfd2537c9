import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { LONGEST_NOTE, MOST_NOTES, type Note } from '../../core/incident/note.ts'
import { time } from '../../core/time.ts'
import type { Store } from '../../store/store.ts'
import type { IncidentSource } from '../incident-source.ts'
import { paragraphs } from '../parameters.ts'
import { sendProblem } from '../problem.ts'
import { type App, json, NoQuery, operation, problem, type RouteDeps, written } from '../route.ts'
import { NoteView } from '../wire/incidents.ts'
import type { Audience } from '../wire/status.ts'

const NewNote = z.strictObject({
  text: paragraphs(LONGEST_NOTE),
  public: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('Whether it is shown without the token'),
})

/** `POST /api/v1/incidents/ID/notes`: adds what a person writes about an incident. */
export function registerNotes(
  app: App,
  { source, store, clock }: Pick<RouteDeps, 'store' | 'clock'> & { readonly source: IncidentSource },
): void {
  const route = operation({
    visibility: 'private',
    summary: 'Adds a note to an incident, for its page, the feed and the post-mortem',
    params: z.object({ id: z.string() }),
    query: NoQuery,
    body: NewNote,
    answers: {
      201: json(NoteView, 'It is stored'),
      404: problem('There is no such incident'),
      409: problem('The incident has too many notes'),
      503: problem('The store cannot be read or written now'),
    },
  })
  /** By incident, the requests that may each add a note that the store does not have yet. */
  const adding = new Map<string, number>()
  app.post('/api/v1/incidents/:id/notes', route, async (request, reply) => {
    const { id: incident } = request.params
    if ((await source.one(incident)) === null) {
      return sendProblem(reply, { status: 404, detail: 'There is no such incident.' })
    }
    const full = { status: 409, detail: `The incident has ${MOST_NOTES} notes already.` } as const
    const others = adding.get(incident) ?? 0
    adding.set(incident, others + 1)
    try {
      if ((await store.notes([incident])).length + others >= MOST_NOTES) return sendProblem(reply, full)
      const { text, public: isPublic } = request.body
      const note: Note = { id: randomUUID(), incident, at: clock.now(), isPublic, text }
      store.saveNote(note)
      await written(store, clock)
      const isStored = (await store.notes([incident])).some(({ id }) => id === note.id)
      if (isStored) return reply.code(201).send(noteView(note))
    } finally {
      const left = (adding.get(incident) ?? 1) - 1
      if (left > 0) adding.set(incident, left)
      else adding.delete(incident)
    }
    const detail = 'The store cannot be written now: the note appears when it can, if Heartline runs until then.'
    return sendProblem(reply, { status: 503, detail })
  })
}

/** The notes of these incidents that the audience may see, oldest first. */
export async function notesFor(
  store: Pick<Store, 'notes'>,
  incidents: readonly string[],
  audience: Audience,
): Promise<readonly Note[]> {
  const all = incidents.length === 0 ? [] : await store.notes(incidents)
  return audience === 'public' ? all.filter(({ isPublic }) => isPublic) : all
}

export function noteView({ id, at, isPublic, text }: Note): NoteView {
  return { id, at: time(at), public: isPublic, text }
}
