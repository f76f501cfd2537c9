import { get, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createEventStream, type EventClient } from '../../src/http/event-stream.ts'
import { createStatusWriter } from '../../src/http/status-document.ts'
import { type Audience, StatusEventView } from '../../src/http/views.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { NETWORKS, NODE, OTHER, OWN, type Setting, setUp } from './setting.ts'

describe('the event stream', () => {
  test('tells everything at first, then what changed, several changes in one event', async () => {
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

  test('resumes where a client left off, with what it missed and nothing else', async () => {
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

  test.each(['nonsense', 'AAAAAAAA-1', '', '../../x'])('tells everything to one who saw %j last', (lastEventId) => {
    const { stream } = board()
    const client = listen('private')

    stream.join(client, lastEventId)

    expect(client.events()[0]?.data.complete).toBe(true)
  })

  test('tells everything to one who comes back after nobody listened for long', async () => {
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

  test('says every five seconds that it is alive', async () => {
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

  test('tells that a result ran out, though nothing happened', async () => {
    const { stream, world, clock } = board()
    await world.pollAll()
    const client = listen('private')
    stream.join(client, null)

    await clock.advance(2 * OWN.intervalMs + 5000)

    const told = client.events().flatMap((event) => event.data.networks.flatMap(({ endpoints }) => endpoints))
    expect(told.filter(({ state }) => state === 'unknown').map(({ name }) => name)).toEqual(['own-1', 'own-2', 'node'])
  })

  test('tells everything anew when the configuration changed', async () => {
    const { stream, world, clock } = board()
    const client = listen('private')
    stream.join(client, null)

    world.configure([{ network: network(), endpoints: [NODE] }])
    await clock.advance(250)

    const last = client.events().at(-1)
    expect([last?.data.complete, names(last)]).toEqual([true, ['ethereum/node']])
  })

  test('holds nothing back for a client that does not read but the names of what changed, and ends it in time', async () => {
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
})

function board() {
  const clock = createFakeClock()
  const world = createWorld(clock, NETWORKS)
  const writer = (audience: Audience) =>
    createStatusWriter({ board: world.board, clock, observer: () => ({ impaired: false, reasons: [] }), audience })
  const writers = { private: writer('private'), public: writer('public') }
  return { clock, world, stream: createEventStream({ board: world.board, clock, writers }) }
}

interface Event {
  readonly id: string | null
  readonly data: StatusEventView
}

function listen(audience: Audience): EventClient & { full: boolean; ended: boolean; events(): Event[] } {
  const texts: string[] = []
  return {
    audience,
    full: false,
    ended: false,
    write(text) {
      texts.push(text)
      return !this.full
    },
    end() {
      this.ended = true
    },
    events: () => texts.flatMap(parse),
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

function request(port: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: '/api/v1/events' }, resolve).on('error', reject)
  })
}

function never(): never {
  throw new Error('not joined')
}
