import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain, type SimulatedChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

interface IncidentView {
  readonly id: string
  readonly network: string
  readonly endpoint: string | null
  readonly state: string
  readonly conditions: readonly { readonly code: string; readonly since: string; readonly until: string | null }[]
  readonly opened_at: string
  readonly confirmed_at: string
  readonly closed_at: string | null
}

/** Addresses of their own are hosts of their own. */
const HOSTS = { a: '127.0.0.2', b: '127.0.0.3', c: '127.0.0.4' } as const

let folder = ''
let chain: SimulatedChain
let nodes: Record<keyof typeof HOSTS, SimulatedNode>
const daemons: RunningDaemon[] = []

async function start(name: keyof typeof HOSTS, port?: number): Promise<SimulatedNode> {
  return startSimulatedNode({
    clock: systemClock,
    chain,
    kind: { family: 'ethereum' },
    name,
    host: HOSTS[name],
    port: port ?? (await freePort()),
  })
}

beforeEach(async () => {
  folder = temporaryFolder()
  chain = createChain({ clock: systemClock, seed: 'incidents', blockTimeMs: 1000 })
  nodes = { a: await start('a'), b: await start('b'), c: await start('c') }
})
afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop('SIGKILL')
  await Promise.all(Object.values(nodes).map((node) => node.stop()))
  removeFolder(folder)
})

async function serve(): Promise<RunningDaemon> {
  const endpoints = Object.values(nodes).map(({ name, url }) => ({ name, url }))
  const daemon = await startDaemon(
    {
      // A busy machine takes hundreds of milliseconds for a poll.
      poll: { interval: '1s', timeout: '1s' },
      networks: [{ name: 'net', family: 'ethereum', block_time: '1s', endpoints }],
    },
    { folder },
  )
  daemons.push(daemon)
  return daemon
}

async function list(daemon: RunningDaemon, query = ''): Promise<readonly IncidentView[]> {
  const { text } = await daemon.get(`/api/v1/incidents${query}`)
  return (JSON.parse(text) as { incidents: IncidentView[] }).incidents
}

async function metric(daemon: RunningDaemon, series: string): Promise<number> {
  const { text } = await daemon.get('/metrics')
  const line = text.split('\n').find((one) => one.startsWith(`heartline_${series} `))
  return Number(line?.split(' ')[1])
}

/** Every `incident` event from now on. */
async function listen(daemon: RunningDaemon): Promise<{ readonly heard: IncidentView[]; end(): void }> {
  const ending = new AbortController()
  const answer = await fetch(`${daemon.url}/api/v1/events`, { signal: ending.signal })
  const heard: IncidentView[] = []
  let text = ''
  void (async () => {
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString()
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^event: incident$/m.test(event) ? /^data: (.*)$/m.exec(event)?.[1] : undefined
        if (data !== undefined) heard.push(JSON.parse(data) as IncidentView)
      }
    }
  })().catch(() => undefined)
  return { heard, end: () => ending.abort() }
}

test('every way to hear of an incident says the same of it, and it goes on over kill -9 until the node is back', async () => {
  const first = await serve()
  await until(async () => (await first.status()).state === 'up', 'all are up')
  const events = await listen(first)
  const { port } = nodes.a
  const diedAt = Date.now()
  await nodes.a.stop()
  await until(async () => (await list(first, '?open=true')).length > 0, 'an incident is open')

  const [open, ...others] = await list(first, '?open=true')
  if (open === undefined) throw new Error('no open incident')
  expect(others).toEqual([])
  expect(open).toMatchObject({ network: 'net', endpoint: 'a', state: 'down', closed_at: null })
  expect(open.conditions.map(({ code }) => code)).toEqual(['unreachable'])
  expect(Date.parse(open.opened_at)).toBeGreaterThanOrEqual(diedAt - 1000)
  expect(Date.parse(open.opened_at)).toBeLessThanOrEqual(Date.parse(open.confirmed_at))
  await until(() => events.heard.length > 0, 'the event comes')
  // An event is sent before any notification is.
  const { notifications: _, ...announced } = open as typeof open & { notifications: unknown }
  expect(events.heard[0]).toMatchObject(announced)
  const endpoint = (await first.endpoint('net', 'a')) as unknown as { incident: string; flapping: boolean }
  expect(endpoint).toMatchObject({ state: 'down', incident: open.id, flapping: false })
  expect(await metric(first, 'incidents_open{network="net"}')).toBe(1)
  const feed = await first.get('/feed.xml')
  expect(feed.text).toContain(`api/v1/incidents/${open.id}.txt`)
  expect(feed.text).toMatch(/<title>net\/a down: connection refused \(open\)<\/title>/)
  const postMortem = await first.get(`/api/v1/incidents/${open.id}.txt`)
  expect(postMortem.text).toContain('net/a')
  expect(postMortem.text).toContain('The incident is still open')

  // What is on disk is what was a quarter of a second ago.
  const written = await metric(first, 'store_rows_written_total')
  await until(async () => (await metric(first, 'store_rows_written_total')) > written + 6, 'it is written')
  events.end()
  await first.stop('SIGKILL')
  const second = await serve()

  const kept = await list(second)
  expect(kept.map(({ id, opened_at, confirmed_at, closed_at }) => [id, opened_at, confirmed_at, closed_at])).toEqual([
    [open.id, open.opened_at, open.confirmed_at, null],
  ])
  expect(await metric(second, 'incidents_open{network="net"}')).toBe(1)
  const heardAgain = await listen(second)
  const backAt = Date.now()
  nodes = { ...nodes, a: await start('a', port) }
  await until(async () => (await list(second, '?open=true')).length === 0, 'it is closed')

  const [closed, ...more] = await list(second)
  expect(more).toEqual([])
  expect(closed).toMatchObject({ id: open.id, opened_at: open.opened_at, state: 'down' })
  expect(Date.parse(closed?.closed_at ?? '')).toBeGreaterThanOrEqual(backAt)
  expect(closed?.conditions[0]?.until).toBe(closed?.closed_at)
  await until(() => heardAgain.heard.some(({ closed_at }) => closed_at !== null), 'the event of its end comes')
  expect(heardAgain.heard.at(-1)).toMatchObject({ id: open.id, closed_at: closed?.closed_at })
  heardAgain.end()
  expect(await metric(second, 'incidents_open{network="net"}')).toBe(0)
  const told = await second.get('/feed.xml')
  expect(told.text).toMatch(/<title>net\/a down: connection refused \(closed after .*\)<\/title>/)
  expect(entryId(told.text)).toBe(entryId(feed.text))
  const whole = await second.get(`/api/v1/incidents/${open.id}`, { accept: 'text/plain' })
  expect(whole.text).not.toContain('still open')
  expect(whole.headers.get('content-type')).toContain('text/plain')
}, 120_000)

function entryId(feed: string): string | undefined {
  return /<entry>\s*<id>([^<]+)<\/id>/.exec(feed)?.[1]
}
