import { get, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createEventStream, type EventClient } from '../../src/http/status/event-stream.ts'
import { createStatusWriter } from '../../src/http/status/status-document.ts'
import { IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import { type Audience, StatusEventView } from '../../src/http/wire/status.ts'
import { Secret } from '../../src/secret.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { condition, incident } from '../support/incident.ts'
import { network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { NETWORKS, NODE, OTHER, OWN, type Setting, setUp } from './setting.ts'

describe('the event stream', () => {
  test('sends everything first, then the changes, several in one event', async () => {
    const { stream, world, clock } = board()
    const client = listen('private')
    stream.join(client, null)

    await world.poll(OWN)
    await world.poll(OTHER)
    await clock.advance(250)

    const [first, second] = client.events()
    expect(client.events()).toHaveLength(2)
    expect([first?.data.complete, names(first)]).toEqual([
      true,
      ['avalanche/own-1', 'avalanche/own-2', 'ethereum/node'],
    ])
    expect([second?.data.complete, names(second)]).toEqual([false, ['avalanche/own-1', 'avalanche/own-2']])
    expect(second?.data.networks[0]?.endpoints[0]?.state).toBe('up')
  })

  test('writes the board once for all clients that join at the same time, each of which gets every later change', async () => {
    const { stream, world, clock } = board()
    const [one, two, later, late] = [listen('private'), listen('private'), listen('public'), listen('private')]
    stream.join(one, null)
    await world.poll(OWN)
    stream.join(two, null)
    stream.join(later, null)
    await clock.advance(250)
    stream.join(late, null)

    expect(two.written[0]).toBe(one.written[0])
    expect(later.written[0]).not.toBe(one.written[0])
    for (const client of [one, two, later]) expect(names(client.events()[1])).toEqual(['avalanche/own-1'])
    expect(late.events()[0]?.data.networks[0]?.endpoints[0]?.state).toBe('up')
    await clock.advance(4000)
    const last = listen('private')
    stream.join(last, null)
    expect(last.events()[0]?.data.generated_at).not.toBe(late.events()[0]?.data.generated_at)
  })

  test('resumes with exactly what a client missed', async () => {
    const { stream, world, clock } = board()
    const before = listen('private')
    const { leave } = stream.join(before, null) ?? never()
    await world.poll(OWN)
    await clock.advance(250)
    leave()
    await world.poll(NODE)
    await clock.advance(1000)

    const back = listen('private')
    stream.join(back, before.events().at(-1)?.id ?? null)

    expect(back.events().map((event) => [event.data.complete, names(event)])).toEqual([[false, ['ethereum/node']]])
  })

  test.each(['nonsense', 'AAAAAAAA-1', '', '../../x'])(
    'sends everything to a client whose last event is %j',
    (lastEventId) => {
      const { stream } = board()
      const client = listen('private')

      stream.join(client, lastEventId)

      expect(client.events()[0]?.data.complete).toBe(true)
    },
  )

  test('sends everything to a client that returns after a long time without clients', async () => {
    const { stream, world, clock } = board()
    const before = listen('private')
    const { leave } = stream.join(before, null) ?? never()
    await world.poll(OWN)
    await clock.advance(250)
    leave()
    await clock.advance(60_000)
    await world.poll(OWN)

    const back = listen('private')
    stream.join(back, before.events().at(-1)?.id ?? null)

    expect(back.events()[0]?.data.complete).toBe(true)
  })

  test('sends a sign of life every five seconds', async () => {
    const { stream, clock } = board()
    const client = listen('private')
    stream.join(client, null)

    await clock.advance(15_000)

    expect(
      client
        .events()
        .slice(1)
        .map((event) => [event.id, names(event)]),
    ).toEqual([
      [null, []],
      [null, []],
      [null, []],
    ])
  })

  test('reports an expired result without any other event', async () => {
    const { stream, world, clock } = board()
    await world.pollAll()
    const client = listen('private')
    stream.join(client, null)

    await clock.advance(2 * OWN.intervalMs + 5000)

    const told = client.events().flatMap((event) => event.data.networks.flatMap(({ endpoints }) => endpoints))
    expect(told.filter(({ state }) => state === 'unknown').map(({ name }) => name)).toEqual(['own-1', 'own-2', 'node'])
  })

  test('sends everything again after a configuration change', async () => {
    const { stream, world, clock } = board()
    const client = listen('private')
    stream.join(client, null)

    world.configure([{ network: network(), endpoints: [NODE] }])
    await clock.advance(250)

    const last = client.events().at(-1)
    expect([last?.data.complete, names(last)]).toEqual([true, ['ethereum/node']])
  })

  test('keeps only the names of changes for a client that does not read, and disconnects it in time', async () => {
    const { stream, world, clock } = board()
    const slow = listen('private')
    slow.full = true
    const { drained } = stream.join(slow, null) ?? never()
    const stuck = listen('private')
    stuck.full = true
    stream.join(stuck, null)

    for (let second = 0; second < 20; second++) {
      await world.poll(OWN)
      await clock.advance(1000)
    }
    expect(slow.events()).toHaveLength(1)
    slow.full = false
    drained()
    expect(slow.events().slice(1).map(names)).toEqual([['avalanche/own-1']])
    await clock.advance(20_000)

    expect([slow.ended, stuck.ended]).toEqual([false, true])
  })

  test('reports begin and end of maintenance, and changes of the plan', async () => {
    const { stream, world, clock } = board()
    await world.pollAll()
    const client = listen('private')
    stream.join(client, null)
    const from = clock.now() + 3000
    const period = { name: 'upgrade', network: 'avalanche', endpoints: ['own-1'], from, until: from + 4000 }

    world.board.putMaintenance([period])
    await clock.advance(250)
    world.board.putMaintenance([period])
    await clock.advance(4750)
    world.board.putMaintenance([])
    await clock.advance(250)

    const told = client.events().map(({ data }) => [data.maintenance?.length, data.networks[0]?.endpoints[0]?.state])
    expect(told).toEqual([
      [0, 'up'],
      [1, 'up'],
      [1, 'up'],
      [undefined, 'maintenance'],
      [undefined, undefined],
      [0, 'up'],
    ])
  })

  test('sends an incident after each change, with the status of its endpoint', async () => {
    const { stream, incidents, clock } = board()
    const client = listen('private')
    stream.join(client, null)

    incidents.put(incident())
    incidents.put(incident({ state: 'degraded' }))
    await clock.advance(250)
    incidents.put(incident({ closedAt: clock.now() }))
    await clock.advance(250)

    expect(
      client
        .events()
        .slice(1)
        .map((event) => event.data.networks[0]?.endpoints[0]?.incident),
    ).toEqual(['incident-1', null])
    expect(client.incidents().map(({ state, closed_at }) => [state, closed_at !== null])).toEqual([
      ['degraded', false],
      ['down', true],
    ])
  })

  test('begins with the open incidents, and sends network-wide ones too', async () => {
    const { stream, incidents, clock } = board()
    incidents.put(incident({ id: 'halt', endpoint: null, cause: 'halted' }))
    incidents.put(incident({ id: 'part', absorbedBy: 'halt' }))
    incidents.put(incident({ id: 'over', closedAt: 1 }))
    const client = listen('private')

    stream.join(client, null)
    incidents.put(incident({ id: 'fork', endpoint: null, cause: 'forked' }))
    await clock.advance(250)

    expect(client.incidents().map(({ id }) => id)).toEqual(['halt', 'fork'])
    expect(client.events()).toHaveLength(1)
  })

  test('resumes with the missed incidents in their present state', async () => {
    const { stream, incidents, clock } = board()
    const before = listen('private')
    const { leave } = stream.join(before, null) ?? never()
    incidents.put(incident({ id: 'seen' }))
    await clock.advance(250)
    leave()
    incidents.put(incident({ id: 'missed' }))
    await clock.advance(1000)
    incidents.put(incident({ id: 'missed', closedAt: clock.now() }))
    await clock.advance(1000)

    const back = listen('private')
    stream.join(back, before.lastId())

    expect(back.events().map(({ data }) => data.complete)).toEqual([false])
    expect(back.incidents().map(({ id, closed_at }) => [id, closed_at !== null])).toEqual([['missed', true]])
  })

  test('puts the id on the last of several events, so that a client with a part of them gets all of them again', async () => {
    const { stream, incidents, clock } = board()
    const client = listen('private')
    stream.join(client, null)
    for (const id of ['a', 'b']) incidents.put(incident({ id }))
    await clock.advance(250)

    const blocks = client
      .text()
      .split('\n\n')
      .filter((block) => block.includes('event: '))

    expect(blocks.map((block) => [/^event: (.*)$/m.exec(block)?.[1], /^id: /m.test(block)])).toEqual([
      ['status', true],
      ['status', false],
      ['incident', false],
      ['incident', true],
    ])
  })

  test('describes an incident to the public in general terms', () => {
    const { stream, incidents } = board()
    incidents.put(incident({ conditions: [condition({ message: 'canary' })] }))
    const client = listen('public')

    stream.join(client, null)

    expect(client.incidents()[0]?.conditions[0]?.message).toBe('no answer')
    expect(client.text()).not.toContain('canary')
  })

  test('keeps half of its places for clients with the token, however many come without', () => {
    const { stream } = board()
    const anonymous = Array.from({ length: 200 }, (_, at) => stream.join(listen('public', `10.0.0.${at}`), null))

    expect(anonymous.filter((joined) => joined !== null)).toHaveLength(128)
    for (let one = 0; one < 128; one++) expect(stream.join(listen('private'), null)).not.toBeNull()
    expect(stream.join(listen('private'), null)).toBeNull()
  })

  test('gives an address without the token 16 places, and a place back when a client leaves', () => {
    const { stream } = board()
    const joined = Array.from({ length: 20 }, () => stream.join(listen('public', '10.0.0.1'), null))

    expect(joined.filter((one) => one !== null)).toHaveLength(16)
    expect(stream.join(listen('public', '10.0.0.2'), null)).not.toBeNull()
    joined[0]?.leave()
    expect(stream.join(listen('public', '10.0.0.1'), null)).not.toBeNull()
    expect(stream.join(listen('public', '10.0.0.1'), null)).toBeNull()
  })

  test('takes no more than 256 listeners', () => {
    const { stream } = board()
    for (let one = 0; one < 256; one++) expect(stream.join(listen('private'), null)).not.toBeNull()

    expect(stream.join(listen('private'), null)).toBeNull()
  })
})

describe('/api/v1/events over a real socket', () => {
  const open: Setting[] = []
  afterEach(async () => {
    for (const { server } of open.splice(0)) await server.close()
  })

  test('is a stream of server-sent events that ends when the server is closed', async () => {
    const setting = setUp()
    open.push(setting)
    const { port } = await setting.server.listen()
    const answer = await request(port)
    const chunks = answer.setEncoding('utf8')[Symbol.asyncIterator]()

    const first = String((await chunks.next()).value)
    await setting.world.poll(OWN)
    await setting.clock.advance(250)
    const second = String((await chunks.next()).value)
    const closed = setting.server.close()
    const end = await chunks.next().catch((error: NodeJS.ErrnoException) => ({ done: error.code === 'ECONNRESET' }))
    await closed

    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(parse(first)[0]?.data.complete).toBe(true)
    expect(names(parse(second)[0])).toEqual(['avalanche/own-1'])
    expect(end.done).toBe(true)
  })

  test('counts clients behind a proxy on this machine by the address that the proxy saw', async () => {
    const setting = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    open.push(setting)
    const { port } = await setting.server.listen()
    const join = async (headers: Record<string, string>) => (await request(port, headers)).statusCode

    for (let one = 0; one < 16; one++) expect(await join({ 'x-forwarded-for': 'spoofed, 203.0.113.1' })).toBe(200)

    expect(await join({ 'x-forwarded-for': '203.0.113.1' })).toBe(503)
    expect(await join({ 'x-forwarded-for': '203.0.113.1, 203.0.113.2' })).toBe(200)
    expect(await join({ authorization: 'Bearer a-token-of-the-operator', 'x-forwarded-for': '203.0.113.1' })).toBe(200)
  })
})

function board() {
  const clock = createFakeClock()
  const world = createWorld(clock, NETWORKS)
  const incidents = createIncidentLog()
  const observer = () => ({ impaired: false, judging: true, reasons: [] })
  const writer = (audience: Audience) =>
    createStatusWriter({ board: world.board, incidents, clock, observer, cluster: () => null, audience })
  const writers = { private: writer('private'), public: writer('public') }
  return {
    clock,
    world,
    incidents,
    stream: createEventStream({ board: world.board, incidents, clock, writers, scopes: ALL }),
  }
}

interface Event {
  readonly id: string | null
  readonly data: StatusEventView
}

function listen(
  audience: Audience,
  address: string | null = null,
): EventClient & {
  full: boolean
  ended: boolean
  readonly written: readonly Buffer[]
  events(): Event[]
  incidents(): IncidentSummaryView[]
  lastId(): string | null
  text(): string
} {
  const written: Buffer[] = []
  const texts: string[] = []
  return {
    audience,
    address,
    written,
    full: false,
    ended: false,
    write(bytes) {
      written.push(bytes)
      texts.push(String(bytes))
      return !this.full
    },
    end() {
      this.ended = true
    },
    events: () => texts.flatMap(parse),
    incidents: () =>
      [...texts.join('').matchAll(/^event: incident\ndata: (.*)$/gm)].map(([, data = '']) =>
        IncidentSummaryView.strict().parse(JSON.parse(data)),
      ),
    lastId: () => [...texts.join('').matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? null,
    text: () => texts.join(''),
  }
}

function parse(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('event: status\n'))
    .map((block) => ({
      id: /^id: (.*)$/m.exec(block)?.[1] ?? null,
      data: StatusEventView.parse(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '')),
    }))
}

function names(event: Event | undefined): string[] {
  return event?.data.networks.flatMap(({ name, endpoints }) => endpoints.map((one) => `${name}/${one.name}`)) ?? []
}

function request(port: number, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: '/api/v1/events', headers, agent: false }, resolve).on('error', reject)
  })
}

function never(): never {
  throw new Error('not joined')
}

const ALL = { private: { shows: () => true }, public: { shows: () => true } }
