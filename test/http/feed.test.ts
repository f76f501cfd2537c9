import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { afterEach, describe, expect, test } from 'vitest'
import type { Incident } from '../../src/core/incident/incident.ts'
import { renderFeed } from '../../src/http/incidents/feed.ts'
import { condition, incident, START } from '../support/incident.ts'
import { type Setting, setUp } from './setting.ts'

const open: Setting[] = []
afterEach(async () => {
  for (const { server } of open.splice(0)) await server.close()
})

interface Element {
  readonly name: string
  readonly namespace: string
  readonly attributes: Record<string, string>
  readonly children: Element[]
  text: string
}

/** With a parser that rejects XML that is not well-formed. */
function parse(xml: string): Element {
  const parser = new SaxesParser({ xmlns: true })
  const root: Element = { name: '', namespace: '', attributes: {}, children: [], text: '' }
  const within = [root]
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    const values = Object.fromEntries(Object.values(attributes).map(({ name, value }) => [name, value]))
    const element: Element = { name: local, namespace: uri, attributes: values, children: [], text: '' }
    within.at(-1)?.children.push(element)
    within.push(element)
  })
  parser.on('closetag', () => void within.pop())
  parser.on('text', (text) => {
    const element = within.at(-1)
    if (element !== undefined) element.text += text
  })
  parser.write(xml).close()
  return root.children[0] ?? root
}

const all = (of: Element, name: string) => of.children.filter((child) => child.name === name)
const text = (of: Element | undefined, name: string) => (of === undefined ? undefined : all(of, name)[0]?.text)

const OPTIONS = { address: 'status.example.org', base: null, title: 'Heartline', notes: [], startedAt: START }
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UUID = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the feed', () => {
  test('counts an incident that outlasted planned maintenance from its end', () => {
    const late = incident({ plannedUntil: START + 60_000, closedAt: START + 12 * 60_000 })

    expect(renderFeed([late], { ...OPTIONS, audience: 'public' })).toContain('(closed after 11 min)')
  })

  test('has the elements that RFC 4287 requires of a feed and its entries', () => {
    const closed = incident({
      closedAt: START + 12 * 60_000,
      conditions: [
        condition({ code: 'lagging', state: 'degraded', message: '3 blocks behind', until: START + 60_000 }),
        condition({ message: 'connection refused', since: START + 60_000, until: START + 12 * 60_000 }),
      ],
    })

    const feed = parse(renderFeed([closed], { ...OPTIONS, audience: 'private' }))

    expect([feed.name, feed.namespace]).toEqual(['feed', 'http://www.w3.org/2005/Atom'])
    expect(feed.children.map(({ name }) => name)).toEqual([
      'id',
      'title',
      'subtitle',
      'updated',
      'author',
      'link',
      'link',
      'entry',
    ])
    expect(text(feed, 'id')).toMatch(UUID)
    expect(text(feed, 'updated')).toBe('2026-01-01T00:12:00.000Z')
    const [entry] = all(feed, 'entry')
    expect(text(entry, 'id')).toMatch(UUID)
    expect(text(entry, 'title')).toBe('avalanche/own-1 down: connection refused (closed after 12 min)')
    expect([text(entry, 'published'), text(entry, 'updated')]).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:12:00.000Z',
    ])
    expect(text(entry, 'summary')).toBe(
      'lagging: 3 blocks behind, from 2026-01-01 00:00:00 to 2026-01-01 00:01:00 UTC\n' +
        'unreachable: connection refused, from 2026-01-01 00:01:00 to 2026-01-01 00:12:00 UTC',
    )
    expect(entry?.children.find(({ name }) => name === 'link')?.attributes).toEqual({
      rel: 'alternate',
      type: 'text/html',
      href: 'incidents/incident-1',
    })
  })

  test('is valid without incidents', () => {
    const feed = parse(renderFeed([], { ...OPTIONS, audience: 'private' }))

    expect(text(feed, 'updated')).toBe('2026-01-01T00:00:00.000Z')
    expect(all(feed, 'entry')).toEqual([])
  })

  test('names an open incident and a halted chain in the title', () => {
    const halted = incident({
      endpoint: null,
      cause: 'halted',
      state: 'degraded',
      conditions: [condition({ code: 'halted', state: 'degraded', message: 'no new block for 3 min' })],
    })

    const entries = all(parse(renderFeed([halted, incident()], { ...OPTIONS, audience: 'private' })), 'entry')

    expect(entries.map((entry) => text(entry, 'title'))).toEqual([
      'avalanche halted: no new block for 3 min (open)',
      'avalanche/own-1 down: connection refused (open)',
    ])
  })

  test('an entry keeps its id when the incident changes, and every incident has its own', () => {
    const ids = (incidents: Incident[]) =>
      all(parse(renderFeed(incidents, { ...OPTIONS, audience: 'public' })), 'entry').map((entry) => text(entry, 'id'))

    const [before] = ids([incident()])
    const [after] = ids([incident({ closedAt: START + 5000, conditions: [], flapping: true, changes: [] })])
    const [other] = ids([incident({ id: 'incident-2' })])

    expect(after).toBe(before)
    expect(other).not.toBe(before)
  })

  test('is well-formed XML with the exact message, whatever a node sends', () => {
    const words = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(']]>', '<!--', '</title>', '&amp;', '"\'><', '\u0000', '\ud800', '\ufffe', '\u001b[0m'),
    )
    fc.assert(
      fc.property(words, words, (message, id) => {
        const one = incident({ id: `i${id}`, conditions: [condition({ message })] })

        const [entry] = all(parse(renderFeed([one], { ...OPTIONS, audience: 'private' })), 'entry')

        const shown = Buffer.from(message)
          .toString()
          .replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
        expect(text(entry, 'summary')).toBe(
          `unreachable: ${shown.replaceAll('\r', '\ufffd')}, since 2026-01-01 00:00:00 UTC`,
        )
        expect(text(entry, 'updated')).toMatch(RFC_3339)
      }),
      { numRuns: 500 },
    )
  })
})

test('/feed.xml is Atom, with an ETag that holds until an incident changes', async () => {
  const setting = setUp()
  open.push(setting)
  setting.incidents.put(incident())
  const ask = (etag = '""') =>
    setting.server.inject({ url: '/feed.xml?from=reader', headers: { 'if-none-match': etag } })

  const first = await ask()
  const same = await ask(first.headers.etag)
  setting.incidents.put(incident({ closedAt: START + 60_000 }))
  const other = await ask(first.headers.etag)

  expect([first.statusCode, first.headers['content-type']]).toEqual([200, 'application/atom+xml; charset=utf-8'])
  expect(text(all(parse(first.body), 'entry')[0], 'title')).toContain('(open)')
  expect([same.statusCode, same.body]).toEqual([304, ''])
  expect([
    other.statusCode,
    other.body.includes('closed after 1 min') || other.body.includes('closed after 60 s'),
  ]).toEqual([200, true])
})

test('each address has a feed with an id of its own, which `server.public_url` makes one', async () => {
  const idsOf = async (over: Parameters<typeof setUp>[0]) => {
    const setting = setUp(over)
    open.push(setting)
    const hosts = ['127.0.0.1:9780', '127.0.0.1:9780', 'localhost:9780']
    const answers = await Promise.all(
      hosts.map((host) => setting.server.inject({ url: '/feed.xml', headers: { host } })),
    )
    return answers.map(({ body }) => text(parse(body), 'id'))
  }
  const [first, same, other] = await idsOf({})
  const publicIds = await idsOf({ options: { publicUrl: () => 'https://status.example.org' } })

  expect(first).toMatch(UUID)
  expect([same === first, other === first]).toEqual([true, false])
  expect([new Set(publicIds).size, publicIds.includes(first)]).toEqual([1, false])
})

test('the feed has the title of the public page; with `server.public_url`, readers that resolve no links can open its own', async () => {
  const publicPage = { title: 'Nodes & Co', logo: null, networks: null }
  const setting = setUp({ options: { publicUrl: () => 'https://status.example.org/nodes', publicPage } })
  open.push(setting)
  setting.incidents.put(incident())

  const feed = parse((await setting.server.inject('/feed.xml')).body)

  expect(text(feed, 'title')).toBe('Nodes & Co: incidents')
  expect(text(all(feed, 'author')[0], 'name')).toBe('Nodes & Co')
  const links = [feed, ...all(feed, 'entry')].flatMap((element) => all(element, 'link'))
  expect(links.map(({ attributes }) => attributes.href)).toEqual([
    'https://status.example.org/nodes/feed.xml',
    'https://status.example.org/nodes/',
    'https://status.example.org/nodes/incidents/incident-1',
    'https://status.example.org/nodes/api/v1/incidents/incident-1.txt',
  ])
})

test('the feed holds the newest fifty incidents', async () => {
  const setting = setUp()
  open.push(setting)
  for (let at = 0; at < 60; at++) setting.incidents.put(incident({ id: `i-${at}`, openedAt: START + at }))

  const entries = all(parse((await setting.server.inject('/feed.xml')).body), 'entry')

  expect(entries).toHaveLength(50)
  expect(text(entries[0], 'published')).toBe('2026-01-01T00:00:00.059Z')
})
