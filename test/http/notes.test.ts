import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Incident } from '../../src/core/incident/incident.ts'
import { IncidentView, NoteView } from '../../src/http/wire/incidents.ts'
import { Secret } from '../../src/secret.ts'
import { opened } from '../store/setting.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'
import { setUp } from './setting.ts'

const TOKEN = 'a-token-of-the-operator'
const AUTHORISED = { authorization: `Bearer ${TOKEN}` }
const OLD = incident({ id: 'old', openedAt: START - 1000, closedAt: START })

/** One open incident, and one that only the store has. */
async function notable(open: Incident = incident(), whenDone: (close: () => Promise<void>) => void = onTestFinished) {
  const { store } = await opened({ path: ':memory:' }, whenDone)
  store.saveIncident(incidentRecord(OLD))
  await store.flush()
  const setting = setUp({ store, options: { token: new Secret(TOKEN) } })
  setting.incidents.put(open)
  whenDone(() => setting.server.close())
  const { server } = setting
  return {
    ...setting,
    store,
    add: (body: unknown, { id = open.id, headers = {} }: { id?: string; headers?: Record<string, string> } = {}) =>
      server.inject({
        method: 'POST',
        url: `/api/v1/incidents/${encodeURIComponent(id)}/notes`,
        headers: { ...AUTHORISED, 'content-type': 'application/json', ...headers },
        payload: JSON.stringify(body),
      }),
    async notes(id = open.id, headers: Record<string, string> = AUTHORISED) {
      const answer = await server.inject({ url: `/api/v1/incidents/${id}`, headers })
      return IncidentView.strict()
        .parse(answer.json())
        .notes.map(({ text }) => text)
    },
    text: async (url: string, headers: Record<string, string> = AUTHORISED) =>
      (await server.inject({ url, headers })).body,
  }
}

describe('a note', () => {
  test('is in the incident, the feed and the post-mortem: without the token, only if it is public', async () => {
    const { add, notes, text, clock } = await notable()
    await clock.advance(60_000)
    const first = await add({ text: 'the disk is full' })
    await clock.advance(60_000)
    await add({ text: 'being repaired', public: true })

    expect(first.statusCode).toBe(201)
    expect(NoteView.strict().parse(first.json())).toMatchObject({
      at: new Date(START + 60_000).toISOString(),
      public: false,
      text: 'the disk is full',
    })
    expect(await notes()).toEqual(['the disk is full', 'being repaired'])
    expect(await notes(undefined, {})).toEqual(['being repaired'])
    for (const url of ['/feed.xml', '/api/v1/incidents/incident-1.txt', '/incidents/incident-1']) {
      const [all, open] = [await text(url), await text(url, {})]
      expect(all, url).toContain('the disk is full')
      expect(all, url).toContain('being repaired')
      expect(open, url).not.toContain('the disk is full')
      expect(open, url).toContain('being repaired')
    }
    expect(await text('/feed.xml')).toContain(`<updated>${new Date(START + 120_000).toISOString()}</updated>`)
    expect(await text('/api/v1/incidents/incident-1.txt')).toContain(
      'NOTES BY PEOPLE\n  2026-01-01 00:01:00  the disk is full\n  2026-01-01 00:02:00  (public) being repaired\n',
    )
  })

  test('may be about a closed incident, and stays after a restart', async () => {
    const { add, store } = await notable()

    expect((await add({ text: 'it was the disk' }, { id: 'old' })).statusCode).toBe(201)

    const later = setUp({ store })
    const answer = await later.server.inject('/api/v1/incidents/old')
    expect(answer.json().notes).toMatchObject([{ text: 'it was the disk' }])
  })

  test('has several lines, and no control or direction characters, which are harmless everywhere', async () => {
    const { add, notes, text } = await notable()
    const hostile = 'a\r\n\r\n\r\n\r\n  b\u202e \u001b[31m\u0000<script>alert(1)</script> ]]> & "q" {{x}}\u2028\ud800'

    await add({ text: hostile, public: true })

    expect(await notes()).toEqual(['a\n\nb [31m <script>alert(1)</script> ]]> & "q" {{x}}'])
    for (const url of ['/feed.xml', '/incidents/incident-1']) {
      expect(await text(url), url).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
      expect(await text(url), url).not.toContain('<script>alert')
    }
  })

  test('is one of a hundred at most', async () => {
    const { add, store, notes } = await notable()
    for (let at = 0; at < 99; at++) {
      store.saveNote({ id: String(at), incident: 'incident-1', at: START, isPublic: false, text: `${at}` })
    }
    await store.flush()

    expect((await add({ text: 'the last' })).statusCode).toBe(201)
    expect((await add({ text: 'one more' })).statusCode).toBe(409)
    expect(await notes()).toHaveLength(100)
  })

  test('is one of a hundred at most, also when several are added at the same time', async () => {
    const { add, store, notes } = await notable()
    for (let at = 0; at < 99; at++) {
      store.saveNote({ id: String(at), incident: 'incident-1', at: START, isPublic: false, text: `${at}` })
    }
    await store.flush()

    const answers = await Promise.all([1, 2, 3].map((at) => add({ text: `parallel ${at}` })))

    expect(answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
    expect(await notes()).toHaveLength(100)
  })

  test('that the store cannot take now is not called stored', async () => {
    const { add } = await notable()
    const lost = setUp({ store: { notes: async () => [] } })
    lost.incidents.put(incident())

    const answer = await lost.server.inject({
      method: 'POST',
      url: '/api/v1/incidents/incident-1/notes',
      payload: { text: 'lost' },
    })

    expect((await add({ text: 'stored' })).statusCode).toBe(201)
    expect([answer.statusCode, answer.json().detail]).toEqual([
      503,
      expect.stringContaining('The store cannot be written now'),
    ])
  })
})

describe('a bad note', () => {
  let about: Awaited<ReturnType<typeof notable>>
  /** The last opened is closed first. */
  const closings: (() => Promise<void>)[] = []
  // None of these tests adds a note.
  beforeAll(async () => {
    about = await notable(incident(), (close) => void closings.unshift(close))
  })
  afterAll(async () => {
    for (const close of closings) await close()
  })

  const TEXT = 'must be a text of 1 to 2000 characters'
  test.each<[string, unknown, string, string]>([
    ['no object', 'text', 'body', 'must be a JSON object'],
    ['no text', {}, 'text', TEXT],
    ['an empty text', { text: ' \n\u200b' }, 'text', TEXT],
    ['a text that is a list', { text: ['a'] }, 'text', TEXT],
    ['a long text', { text: 'x'.repeat(2001) }, 'text', TEXT],
    ['public that is no boolean', { text: 'a', public: 'no' }, 'public', 'must be true or false'],
    ['an author', { text: 'a', author: 'me' }, 'author', 'is not a field of this route'],
  ])('%s is rejected with the field', async (_what, body, parameter, detail) => {
    const { add, notes } = about

    const answer = await add(body)

    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors).toEqual([{ parameter, detail }])
    expect(await notes()).toEqual([])
  })

  test.each<[string, number, { id?: string; headers?: Record<string, string> }]>([
    ['about no incident', 404, { id: 'none' }],
    ['without the token', 401, { headers: { authorization: '' } }],
    ['of a page of another site', 403, { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['as plain text', 415, { headers: { 'content-type': 'text/plain' } }],
  ])('%s: %i', async (_what, status, given) => {
    const { add, notes } = about

    expect((await add({ text: 'a' }, given)).statusCode).toBe(status)
    expect(await notes()).toEqual([])
  })
})
