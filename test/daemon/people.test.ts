import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { createAuthority } from '../nodes/certificates.ts'
import {
  type Daemon,
  removeFolder,
  runHeartline,
  runHere,
  startDaemon,
  startDaemonHere,
  temporaryFolder,
  until,
} from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

const TOKEN = 'a-token-of-the-operator'
let daemon: Daemon | null = null
let end: () => Promise<unknown> = async () => {}
let node: SimulatedNode | null = null
let folder = ''

async function stop() {
  await end()
  await node?.stop()
  daemon = null
  node = null
  removeFolder(folder)
}

/** The built program for a test that kills it. */
async function serve(server: object, port: number, { notify = {}, killed = false } = {}): Promise<void> {
  const chain = createChain({ clock: systemClock, seed: 'people', blockTimeMs: 1000 })
  node ??= await startSimulatedNode({
    clock: systemClock,
    chain,
    kind: { family: 'ethereum' },
    name: 'own-1',
    host: '127.0.0.1',
    port: 0,
  })
  const config = {
    server: { listen: `127.0.0.1:${port}`, ...server },
    poll: { interval: '1s' },
    notify,
    networks: [{ name: 'net', family: 'ethereum', block_time: '1s', endpoints: [{ name: 'own-1', url: node.url }] }],
  }
  const options = { folder, early: 'tls' in server }
  if (killed) {
    const started = await startDaemon(config, options)
    daemon = started
    end = () => started.stop('SIGKILL')
  } else {
    const started = await startDaemonHere(config, options)
    daemon = started
    end = () => started.stop()
  }
}

const heartline = (...args: string[]) => runHeartline([...args, '-c', `${folder}/heartline.yaml`])
const here = (...args: string[]) => runHere([...args, '-c', `${folder}/heartline.yaml`])
const silence = (...args: string[]) => here('silence', ...args)

describe('a daemon for each', () => {
  afterEach(stop)

  test('`silence` begins, lists and ends silences of the running daemon, which keeps them through a crash', async () => {
    folder = temporaryFolder()
    const port = await freePort()
    await serve({ token: TOKEN }, port, { killed: true })

    const one = await heartline('silence', 'net/own-1', '--for', '2h', '--reason', 'upgrade <b>')
    const whole = await silence('net', '--for', '30m', '--reason', 'drill')
    const unknown = await silence('net/none', '--for', '2h', '--reason', 'x')
    const blank = await silence('net', '--for', '2h', '--reason', ' ')

    expect([one.status, whole.status]).toEqual([0, 0])
    const [, id = ''] = /^([0-9a-f]{8}): no messages about net\/own-1 until 20\d\d-/.exec(one.out) ?? []
    expect(id).not.toBe('')
    expect([unknown.status, unknown.err.trim()]).toEqual([
      64,
      'heartline: There is no such endpoint in the configuration.',
    ])
    expect([blank.status, blank.err.trim()]).toEqual([64, 'heartline: reason must be a text of 1 to 200 characters'])

    await end()
    await serve({ token: TOKEN }, port, { killed: true })
    const list = await heartline('silence', 'list')
    expect(
      list.out
        .trim()
        .split('\n')
        .map((line) => line.replace(/\s+20.*UTC\s+/, ' | ')),
    ).toEqual([
      expect.stringMatching(/^ID +ABOUT +UNTIL +REASON$/),
      expect.stringMatching(/^[0-9a-f]{8} +net \| drill$/),
      expect.stringMatching(new RegExp(`^${id} +net/own-1 \\| upgrade <b>$`)),
    ])
    expect((await daemon?.get('/metrics', { authorization: `Bearer ${TOKEN}` }))?.text).not.toContain('upgrade')

    const ended = await heartline('silence', 'end', id)
    const again = await silence('end', id)
    expect([ended.status, ended.out.trim()]).toEqual([
      0,
      `${id}: ended, messages about net/own-1 are sent again unless another silence holds`,
    ])
    expect([again.status, again.err.trim()]).toEqual([64, 'heartline: No silence of this id holds.'])
    expect(daemon?.log()).toContain('silence ended')
    expect(daemon?.log()).not.toContain('upgrade')
  })

  test('an outage of a silenced node is an incident at once, and a message when the silence ends', async () => {
    folder = temporaryFolder()
    const told: string[] = []
    const sink = createServer((request, response) => {
      told.push(String(request.headers['webhook-id']))
      response.end()
    }).listen(0, '127.0.0.1')
    await once(sink, 'listening')
    onTestFinished(() => void sink.close())
    const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`
    await serve({}, await freePort(), {
      notify: { group_wait: '100ms', channels: [{ name: 'hook', type: 'webhook', url }] },
    })

    const begun = await silence('net', '--for', '1h', '--reason', 'disk replaced')
    await node?.stop()
    const get = async <T>(path: string) => JSON.parse((await daemon?.get(path))?.text ?? '') as T
    const list = () => get<{ incidents: { id: string; state: string }[] }>('/api/v1/incidents')
    await until(async () => (await list()).incidents.length > 0, 'the incident opens')
    const [incident] = (await list()).incidents
    const metrics = (await daemon?.get('/metrics'))?.text ?? ''
    const { silences } = await get<{ silences: { reason: string }[] }>(`/api/v1/incidents/${incident?.id ?? ''}`)

    expect([incident?.state, told]).toEqual(['down', []])
    expect(metrics).toContain('heartline_endpoint_up{network="net",endpoint="own-1"} 0')
    expect(metrics).toContain('\nheartline_notification_queue 0\n')
    expect(metrics).toContain('\nheartline_silences_active 1\n')
    expect(silences.map(({ reason }) => reason)).toEqual(['disk replaced'])
    await silence('end', begun.out.slice(0, 8))
    const left = await silence('list')
    await until(() => told.length > 0, 'the message is sent')
    expect(told).toHaveLength(1)
    expect([left.status, left.out.trim()]).toEqual([0, 'no silences'])
    expect((await daemon?.get('/metrics'))?.text).toContain('\nheartline_silences_active 0\n')
  })

  test('a command to a daemon over TLS sends its token to the holder of the configured certificate only', async () => {
    folder = temporaryFolder()
    const port = await freePort()
    const authority = createAuthority()
    onTestFinished(() => authority.remove())
    const [own, other] = ['own', 'other'].map((name) => {
      const { cert, key } = authority.issue({ san: 'DNS:status.example.org' })
      writeFileSync(`${folder}/${name}.crt`, cert)
      writeFileSync(`${folder}/${name}.key`, key)
      return { cert: `${name}.crt`, key: `${name}.key` }
    })
    await serve({ token: TOKEN, tls: own }, port)

    const list = await silence('list')
    daemon?.rewrite({
      server: { listen: `127.0.0.1:${port}`, token: TOKEN, tls: other },
      networks: [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'own-1', url: node?.url }] }],
    })
    const refused = await silence('list')

    expect([list.status, list.out.trim()]).toEqual([0, 'no silences'])
    expect(refused.status).toBe(70)
    expect(refused.err).toContain('another certificate than server.tls')
  })
})

describe('one daemon with a token', () => {
  let port: number
  beforeAll(async () => {
    folder = temporaryFolder()
    port = await freePort()
    await serve({ token: TOKEN }, port)
  })
  afterAll(stop)

  test('`note` adds to an incident of the running daemon, for all or for those with the token', async () => {
    await node?.stop()
    const incidents = async () =>
      (JSON.parse((await daemon?.get('/api/v1/incidents'))?.text ?? '{}') as { incidents: { id: string }[] }).incidents
    await until(async () => (await incidents()).length > 0, 'the incident opens')
    const id = (await incidents())[0]?.id ?? ''

    const own = await heartline('note', id, 'the disk is full')
    const open = await here('note', id, 'being repaired', '--public')
    const unknown = await here('note', 'none', 'a')
    const blank = await here('note', id, ' ')

    expect([own.status, own.out.trim()]).toEqual([0, 'added, readable with the token only'])
    expect([open.status, open.out.trim()]).toEqual([0, 'added, readable by everyone who can see the page'])
    expect([unknown.status, unknown.err.trim()]).toEqual([64, 'heartline: There is no such incident.'])
    expect([blank.status, blank.err.trim()]).toEqual([64, 'heartline: text must be a text of 1 to 2000 characters'])
    const notes = async (headers: Record<string, string>) => {
      const { text } = (await daemon?.get(`/api/v1/incidents/${id}`, headers)) ?? { text: '{}' }
      return (JSON.parse(text) as { notes: { text: string }[] }).notes.map((note) => note.text)
    }
    expect(await notes({ authorization: `Bearer ${TOKEN}` })).toEqual(['the disk is full', 'being repaired'])
    expect(await notes({})).toEqual(['being repaired'])
    expect(daemon?.log()).not.toContain('the disk is full')
  })

  test('without a daemon, or with another token, a command says so in one sentence', async () => {
    const unused = await freePort()
    const file = (server: object) =>
      daemon?.rewrite({
        server: { listen: `127.0.0.1:${port}`, ...server },
        networks: [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'own-1', url: node?.url }] }],
      })

    file({ listen: `127.0.0.1:${unused}` })
    const gone = await silence('list')
    file({ token: 'another-token' })
    const wrong = await silence('list')
    file({ listen: '127.0.0.1:0' })
    const anywhere = await silence('list')
    const incomplete = await silence('net', '--for', '31d')

    expect([gone.status, gone.err.trim()]).toEqual([
      70,
      `heartline: no daemon answers at http://127.0.0.1:${unused}/: this command needs one that runs with the same configuration`,
    ])
    expect([wrong.status, wrong.err.trim()]).toEqual([
      70,
      `heartline: the daemon at http://127.0.0.1:${port}/ has another server.token than this configuration`,
    ])
    expect([anywhere.status, anywhere.err.split('\n').length]).toEqual([70, 2])
    expect([incomplete.status, incomplete.err]).toEqual([64, expect.stringContaining('from 1s to 30d')])
  })
})
