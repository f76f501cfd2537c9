import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { createAuthority } from '../nodes/certificates.ts'
import {
  type RunningDaemon,
  removeFolder,
  runHeartline,
  runHere,
  startDaemon,
  temporaryFolder,
  until,
} from '../support/daemon.ts'
import { requirePackage } from '../support/system-package.ts'
import { createCanaries } from './canaries.ts'
import { type EchoReceivers, startEchoReceivers } from './echo-receivers.ts'

const canaries = createCanaries()
const hits: string[] = []
const cleanups: (() => unknown)[] = []
let searched = 0

/** Looks for every canary in every form, at once: what is kept is where they were. */
function search(where: string, bytes: Buffer | string): void {
  searched += bytes.length
  hits.push(...canaries.foundIn(where, bytes))
}

/** What a node does with a request that carries our secrets: says them back, in a way of its own. */
type Mode = (echo: string, id: number, response: ServerResponse) => void

const json = { 'content-type': 'application/json' }
const plain = (echo: string) => echo.replace(/[^\x20-\x7e]/g, ' ').slice(0, 2000)
const MODES: Readonly<Record<string, Mode>> = {
  'an error page': (echo, _id, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end(echo),
  'a broken one': (echo, _id, response) => response.writeHead(502, { 'content-type': 'text/html' }).end(`<p>${echo}`),
  'a refusal': (echo, _id, response) => response.writeHead(401, json).end(JSON.stringify({ error: echo })),
  'a refusal in JSON-RPC': (echo, id, response) =>
    response.writeHead(403, json).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: echo } })),
  'a redirect': (echo, _id, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:1/${encodeURIComponent(echo)}` }).end(),
  'a limit': (echo, _id, response) => response.writeHead(429, { 'retry-after': plain(echo) }).end(echo),
  'no JSON': (echo, _id, response) => response.writeHead(200, json).end(`{"jsonrpc":${echo}`),
  'a wrong id': (echo, _id, response) =>
    response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: echo, result: echo })),
  'an encoding': (echo, _id, response) => response.writeHead(200, { 'content-encoding': plain(echo) }).end(echo),
  'a reason': (echo, _id, response) => response.writeHead(500, plain(echo)).end(),
  'an error': (echo, id, response) =>
    response
      .writeHead(200, json)
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: echo, data: echo }, data: null })),
  'a code': (echo, id, response) =>
    response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: echo, message: echo } })),
  'a code in REST': (echo, _id, response) =>
    response.writeHead(200, json).end(JSON.stringify({ data: null, error: echo, code: echo })),
}
/** Results pass to callers as they are, whatever a node puts there, so these are for polls alone. */
const RESULTS: Readonly<Record<string, Mode>> = {
  'a result': (echo, id, response) =>
    response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result: echo })),
  'a block': (echo, id, response) =>
    response
      .writeHead(200, json)
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: { number: echo, hash: echo, timestamp: echo } })),
  'a sick health': (echo, id, response) =>
    response.writeHead(200, json).end(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        result: { healthy: false, checks: { C: { error: echo, message: echo } } },
      }),
    ),
}

interface EchoNode {
  readonly url: string
  mode: Mode | null
  served: number
}

/** A node behind a provider's front: the path begins with a key, and so does a header. */
async function startEchoNode(node: SimulatedNode, prefix: string): Promise<EchoNode> {
  const echoNode: EchoNode = { url: '', mode: null, served: 0 }
  const take = async (asked: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    echoNode.served++
    const { method = 'GET', url = '' } = asked
    if (echoNode.mode !== null) {
      const echo = `${method} ${url} ${asked.rawHeaders.join(' ')} ${body}`
      return echoNode.mode(echo, Number(/"id":(\d+)/.exec(body)?.[1] ?? 0), response)
    }
    // What is configured arrives: else there would be nothing to say back.
    expect(url.startsWith(prefix)).toBe(true)
    const path = url
      .slice(prefix.length)
      .replace(/\?.*$/, '')
      .replace(`/${canaries.of('rpc_path')}`, '')
    const answer = await fetch(`${node.url}${path === '' ? '/' : path}`, {
      method,
      headers: json,
      ...(method === 'POST' && { body }),
    })
    response.writeHead(answer.status, json).end(Buffer.from(await answer.arrayBuffer()))
  }
  const server = createServer((asked, response) => void take(asked, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return Object.assign(echoNode, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

interface Heard {
  readonly status: number
  readonly text: string
}

/** One request, and all that comes back searched; what it is called must hold no secret itself. */
function hear(
  what: string,
  url: string,
  over: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  return new Promise<Heard>((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = over
    request(url, { method, headers, rejectUnauthorized: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks)
        search(`${what}: headers`, `${answer.statusMessage} ${answer.rawHeaders.join('\n')}`)
        search(`${what}: body`, bytes)
        resolve({ status: answer.statusCode ?? 0, text: bytes.toString() })
      })
    })
      .on('error', reject)
      .end(body)
  })
}

/** Bytes as they are, over TLS. */
function hearRaw(what: string, url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
    socket.on('close', () => {
      search(what, Buffer.concat(chunks))
      resolve()
    })
  })
}

const WALLET = canaries.of('endpoint_id of wallet')
const OPERATOR = canaries.of('endpoint_id of operator')
const TOKEN = canaries.of('server token')
const ENV = {
  HEARTLINE_KEY: canaries.of('variable that is referred to'),
  HEARTLINE_UNUSED: canaries.of('unused variable'),
  HEARTLINE_WALLET: WALLET,
}
/** Every secret of every type of channel, all sent to receivers that repeat them. */
function notifyTo({ url, smtp }: EchoReceivers) {
  const key = Buffer.from(canaries.of('secret of a webhook').padEnd(24, '=')).toString('base64')
  const at = (type: string) => `${url}/${canaries.of(`path of ${type}`)}?key=${canaries.of(`query of ${type}`)}`
  const login = `${canaries.of('user of email')}:${canaries.of('password of email')}`
  const keys = {
    webhook: { url: at('webhook'), secret: `whsec_${key}` },
    alertmanager: { urls: [at('alertmanager'), at('alertmanager too')] },
    slack: { webhook_url: at('slack') },
    discord: { webhook_url: at('discord') },
    teams: { webhook_url: at('teams') },
    telegram: {
      api_url: `${url}/${canaries.of('path of telegram')}`,
      bot_token: `1:${canaries.of('bot_token')}`,
      chat_id: `@${canaries.of('chat_id')}`,
    },
    pagerduty: { api_url: `${url}/${canaries.of('path of pagerduty')}`, routing_key: canaries.of('routing_key') },
    opsgenie: { api_url: `${url}/${canaries.of('path of opsgenie')}`, api_key: canaries.of('api_key') },
    ntfy: { url, topic: canaries.of('topic'), token: canaries.of('token of ntfy') },
    email: { smtp: `smtp://${login}@${smtp}`, from: 'heartline@example.org', to: ['ops@example.org'] },
  }
  return {
    group_wait: '100ms',
    rate: 1000,
    channels: Object.entries(keys).map(([type, own]) => ({ name: `to-${type}`, type, ...own })),
    routes: [{ gateway: true, channels: Object.keys(keys).map((type) => `to-${type}`) }],
    heartbeat: { url: at('heartbeat'), every: '1s' },
  }
}

const OFTEN = '"interval":"250ms","timeout":"250ms"'
const SELDOM = '"interval":"5s","timeout":"1s"'
const AUTHORISED = { authorization: `Bearer ${TOKEN}` }

test('the search finds what it is to find, in every form', () => {
  const planted = createCanaries()
  const secret = planted.of('here')
  const bytes = Buffer.from(secret)
  const forms = [
    secret,
    secret.toUpperCase(),
    bytes.toString('hex'),
    bytes.toString('base64'),
    Buffer.from(`a${secret}b`).toString('base64'),
    Buffer.from(`user:${secret}`).toString('base64url'),
    Buffer.from(`ab${secret}`).toString('base64'),
    [...bytes].map((byte) => `%${byte.toString(16).toUpperCase()}`).join(''),
    JSON.stringify({ key: `x${secret}y` }),
    JSON.stringify([...bytes]),
  ]

  for (const form of forms) expect(planted.foundIn('x', `before ${form} after`), form).not.toEqual([])
  expect(planted.foundIn('x', Buffer.from(`x${secret}`, 'utf16le'))).toEqual(['x: here, UTF-16'])
  expect(planted.foundIn('x', Buffer.concat([Buffer.from([0, 255, 192]), bytes]))).toEqual(['x: here, as it is'])
  expect(planted.foundIn('x', secret.slice(0, -1))).toEqual([])
})

describe.runIf(requirePackage('openssl', 'openssl'))('no secret is in', () => {
  let daemon: RunningDaemon
  let gateway = ''
  let folder = ''
  let echoes: EchoNode[] = []
  const commands: { readonly out: string; readonly err: string }[] = []
  let stream: { text: string; end(): void }
  let receivers: EchoReceivers

  beforeAll(async () => {
    folder = temporaryFolder()
    cleanups.push(() => removeFolder(folder))
    const authority = createAuthority()
    for (const [name, { cert, key }] of [
      ['page', authority.selfSigned],
      ['gateway', authority.issue({ san: 'IP:127.0.0.1' })],
    ] as const) {
      // Two lines of it are enough to be worth something.
      canaries.add(`key of the ${name}`, key.split('\n')[1] ?? '')
      writeFileSync(join(folder, `${name}.crt`), cert)
      writeFileSync(join(folder, `${name}.key`), `${canaries.of(`file of the key of the ${name}`)}\n${key}`)
    }
    authority.remove()
    writeFileSync(join(folder, 'secret.txt'), canaries.of('file that is referred to'))

    const chain = createChain({ clock: systemClock, seed: 'canary', blockTimeMs: 500 })
    const sharded = createChain({ clock: systemClock, seed: 'shards', blockTimeMs: 500, shards: [0, 1, 2, 4294967295] })
    const start = async (name: string, kind: NodeOptions['kind'], of = chain) => {
      const node = await startSimulatedNode({ clock: systemClock, chain: of, kind, name })
      cleanups.push(() => node.stop())
      return node
    }
    const eth = await start('eth', { family: 'ethereum' })
    const avax = await start('avax', { family: 'avalanche', adminEnabled: true })
    const egld = await start('egld', { family: 'multiversx', kind: 'proxy' }, sharded)
    const path = canaries.of('path of the url')
    echoes = await Promise.all([eth, avax, egld].map((node) => startEchoNode(node, `/v2/${path}`)))
    const [ethEcho, avaxEcho, egldEcho] = echoes.map(({ url }) => {
      const withUser = url.replace('//', `//${canaries.of('user of the url')}:${canaries.of('password of the url')}@`)
      return `${withUser}/v2/${path}?key=${canaries.of('query of the url')}`
    })
    const headers = {
      'x-api-key': canaries.of('header'),
      authorization: `Bearer ${canaries.of('authorization header')}`,
      'x-env': '${HEARTLINE_KEY}',
      'x-file': '${file:secret.txt}',
    }
    receivers = await startEchoReceivers()
    cleanups.push(() => receivers.stop())
    const common = { block_time: '500ms' }
    daemon = await startDaemon(
      {
        server: {
          listen: '127.0.0.1:0',
          token: TOKEN,
          public: true,
          tls: { cert: 'page.crt', key: 'page.key' },
        },
        poll: { interval: '250ms', timeout: '250ms' },
        networks: [
          {
            ...common,
            name: 'ethereum',
            family: 'ethereum',
            chain_id: 1,
            endpoints: [
              { name: 'a', url: ethEcho, headers, rpc_path: `/${canaries.of('rpc_path')}` },
              { name: 'b', url: eth.url },
              { name: 'c', url: `http://${canaries.of('host of the url')}.invalid/${canaries.of('path to nowhere')}` },
              { name: 'd', url: `${eth.url.replace('http', 'https')}/${canaries.of('path behind no TLS')}`, headers },
              { name: 'e', url: `http://127.0.0.1:1/${canaries.of('path of a closed port')}` },
            ],
          },
          {
            ...common,
            name: 'avalanche',
            family: 'avalanche',
            endpoints: [
              { name: 'a', url: avaxEcho, headers },
              { name: 'b', url: avax.url },
            ],
          },
          {
            ...common,
            name: 'dark',
            family: 'ethereum',
            endpoints: [
              { name: 'a', url: `http://127.0.0.1:1/${canaries.of('path of a network without endpoints')}`, headers },
            ],
          },
          {
            ...common,
            name: 'multiversx',
            family: 'multiversx',
            host: 'egld.example.org',
            endpoints: [
              { name: 'a', url: egldEcho, headers },
              { name: 'b', url: egld.url },
            ],
          },
        ],
        notify: notifyTo(receivers),
        gateway: {
          enabled: true,
          listen: '127.0.0.1:0',
          timeout: '3s',
          tls: { cert: 'gateway.crt', key: 'gateway.key' },
          callers: [
            {
              name: 'wallet',
              endpoint_id: '${HEARTLINE_WALLET}',
              cors: ['https://app.example.org'],
              methods: ['eth_*'],
            },
            { name: 'operator', endpoint_id: OPERATOR, networks: ['avalanche'], admin: true },
            {
              name: 'limited',
              endpoint_id: canaries.of('endpoint_id of limited'),
              rate_limit: { requests: 1, per: '1h' },
            },
          ],
        },
      },
      { folder, env: ENV, early: true, args: ['--log-level', 'debug', '--api-admin-enabled=true'] },
    )
    cleanups.push(() => daemon.stop('SIGKILL'))
    gateway = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1] ?? ''
    stream = listen()
    await until(async () => (await hear('ready', `${daemon.url}/-/ready`)).status === 200, 'it is ready')
  }, 120_000)

  afterAll(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  /** What could bring a second daemon into this process runs in its own. */
  function heartline(...args: readonly string[]) {
    const run = args[0] === 'serve' ? runHeartline : runHere
    return run([...args, '-c', join(folder, 'heartline.yaml')], { env: ENV })
  }

  /** The live events, from now on. */
  function listen() {
    const heard = { text: '', end() {} }
    const req = request(
      `${daemon.url}/api/v1/events`,
      { headers: AUTHORISED, rejectUnauthorized: false },
      (answer) => void answer.setEncoding('utf8').on('data', (chunk) => (heard.text += String(chunk))),
    )
    req.on('error', () => {}).end()
    heard.end = () => void req.destroy()
    return heard
  }

  /** From then on, the tests look at other things than polls. */
  async function pollSeldom(): Promise<void> {
    const file = join(folder, 'heartline.yaml')
    const logged = daemon.log().length
    writeFileSync(file, readFileSync(file, 'utf8').replace(OFTEN, SELDOM))
    daemon.process.kill('SIGHUP')
    await until(() => daemon.log().includes('"configuration reloaded"', logged), 'it is reloaded', 30_000)
  }

  const rpc = (method: string, params: unknown = []) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const post = (body: string, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { ...json, ...headers },
    body,
  })
  const alias = (name: string) => rpc('admin.alias', { endpoint: 'bc/C', alias: name })
  let turn = 0

  /** Requests of callers who may, to nodes that are well or are not. */
  async function call(what: string): Promise<void> {
    turn++
    const health = post(rpc('health.health', {}), { 'x-heartline-endpoint': 'a' })
    const admin = post(alias(`mine-${turn}`), { 'x-heartline-endpoint': 'a' })
    const origin = post(rpc('eth_chainId'), { origin: 'https://app.example.org' })
    for (let at = 0; at < 4; at++) {
      const block = `0x${(turn * 10 + at).toString(16)}`
      await hear(`${what}: block`, `${gateway}/ethereum/${WALLET}`, post(rpc('eth_getBlockByNumber', [block, false])))
    }
    await hear(`${what}: page`, `${gateway}/ethereum/${WALLET}`, origin)
    await hear(`${what}: extra`, `${gateway}/ethereum/${WALLET}`, post(rpc('eth_sendRawTransaction', ['0x00'])))
    await hear(`${what}: health`, `${gateway}/avalanche/${WALLET}/ext/health`, health)
    await hear(`${what}: alias`, `${gateway}/avalanche/${OPERATOR}/ext/admin`, admin)
    await hear(`${what}: at an alias`, `${gateway}/avalanche/${WALLET}/ext/mine-${turn}/rpc`, post(rpc('eth_chainId')))
    await hear(`${what}: nonce`, `${gateway}/multiversx/${WALLET}/block/1/by-nonce/${turn}`)
    await hear(`${what}: status`, `${gateway}/multiversx/${WALLET}/network/status/1`)
    const { hostname, port } = new URL(gateway)
    const host = { host: 'egld.example.org' }
    await hear(`${what}: by host`, `https://${hostname}:${port}/${WALLET}/network/config`, { headers: host })
  }

  test('anything that is heard while nodes say our secrets back in every way', { timeout: 600_000 }, async () => {
    await call('all well')
    for (const [name, mode] of [...Object.entries(MODES), ...Object.entries(RESULTS)]) {
      for (const echo of echoes) {
        echo.mode = mode
        echo.served = 0
      }
      await until(() => echoes.every(({ served }) => served >= 3), `polls see ${name}`, 60_000)
      if (name in MODES) await call(name)
      for (const [network, endpoint] of [
        ['ethereum', 'a'],
        ['avalanche', 'a'],
        ['multiversx', 'a'],
        ['ethereum', 'd'],
      ]) {
        const target = `${daemon.url}/probe?target=${network}/${endpoint}`
        await hear(`${name}: probe`, target, { headers: AUTHORISED })
        await hear(`${name}: probe, debug`, `${target}&debug=true`, { headers: AUTHORISED })
        await hear(`${name}: endpoint`, `${daemon.url}/api/v1/endpoints/${network}/${endpoint}`, {
          headers: AUTHORISED,
        })
      }
      for (const path of ['/', '/metrics', '/api/v1/status', '/api/v1/gateway']) {
        await hear(`${name}: ${path}`, `${daemon.url}${path}`, { headers: AUTHORISED })
      }
    }

    for (const echo of echoes) echo.mode = null
    await until(async () => {
      const { status } = await hear('dark', `${gateway}/dark/${WALLET}`, post(rpc('eth_blockNumber')))
      const { text } = await hear('dark: told', `${daemon.url}/api/v1/notifications`, { headers: AUTHORISED })
      const { deliveries } = JSON.parse(text) as { deliveries: { type: string; network: string | null }[] }
      return status >= 500 && deliveries.some((one) => one.type === 'heartline.impaired' && one.network === 'dark')
    }, 'channels are to hear that a network has no endpoint')

    expect(hits).toEqual([])
  })

  test('the errors of channels whose receivers repeat our secrets', { timeout: 120_000 }, async () => {
    interface Shown {
      readonly channels: readonly { readonly name: string; readonly last_error: string | null }[]
      readonly heartbeat: { readonly last_error: string | null }
    }
    const failures = async () => {
      const { text } = await hear('channels', `${daemon.url}/api/v1/notifications`, { headers: AUTHORISED })
      const { channels, heartbeat } = JSON.parse(text) as Shown
      return [...channels.map(({ last_error: error }) => error), heartbeat.last_error]
    }
    await until(async () => (await failures()).every((error) => error !== null), 'every channel has failed', 60_000)
    commands.push(await heartline('notify', 'test'))

    expect((await failures()).filter((error) => error?.includes('[redacted]')).length).toBeGreaterThan(5)
    // The secrets were sent to where they belong: else there would be nothing to repeat.
    const arrived = new Set(canaries.foundIn('', receivers.received()).map((hit) => hit.slice(2).split(',')[0]))
    for (const place of ['bot_token', 'chat_id', 'routing_key', 'api_key', 'topic', 'token of ntfy']) {
      expect(arrived).toContain(place)
    }
    for (const type of ['webhook', 'alertmanager', 'slack', 'discord', 'teams', 'heartbeat']) {
      expect(arrived).toContain(`path of ${type}`)
      expect(arrived).toContain(`query of ${type}`)
    }
    expect(arrived).toContain('password of email')
    expect(arrived).not.toContain('secret of a webhook')
    await pollSeldom()
    for (const path of ['/notifications', '/metrics', '/api/v1/incidents?limit=100']) {
      for (const headers of [{}, AUTHORISED]) await hear(`channels: ${path}`, `${daemon.url}${path}`, { headers })
    }
    expect(commands.at(-1)?.out).toContain('to-email: failed')
    expect(hits).toEqual([])
  })

  test('answers to unauthorized requests with similar ids and tokens', {
    timeout: 240_000,
  }, async () => {
    const near = (id: string) => [
      `${id}x`,
      id.slice(0, -1),
      id.toUpperCase(),
      `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`,
      `${id}%00`,
      `${id};`,
    ]
    for (const id of [WALLET, OPERATOR, ...near(WALLET), ...near(OPERATOR), canaries.of('endpoint_id of limited')]) {
      for (const network of ['ethereum', 'avalanche', 'multiversx', id]) {
        for (const rest of [
          '',
          '/ext/health',
          '/ext/admin',
          `/ext/${id}`,
          '/network/config',
          `/block/${id}/by-hash/${id}`,
          '/%00',
          '//',
        ]) {
          await hear(`near: ${rest.length} GET`, `${gateway}/${network}/${id}${rest}`, {
            headers: { 'x-heartline-endpoint': id },
          })
          await hear(
            `near: ${rest.length} POST`,
            `${gateway}/${network}/${id}${rest}`,
            post(rpc(id, [id]), { 'x-heartline-endpoint': id }),
          )
        }
      }
      await hear('near: text', `${gateway}/ethereum/${id}`, {
        method: 'POST',
        headers: { 'content-type': id },
        body: id,
      })
      await hear('near: PUT', `${gateway}/ethereum/${id}`, {
        method: 'PUT',
        headers: { origin: `https://${id}.example` },
        body: id,
      })
      await hear('near: preflight', `${gateway}/ethereum/${id}`, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.org', 'access-control-request-method': 'POST' },
      })
      await hear(
        'near: alias',
        `${gateway}/avalanche/${OPERATOR}/ext/admin`,
        post(rpc('admin.alias', { endpoint: `${id}/..`, alias: `${id}{}` })),
      )
      await hearRaw('near: no HTTP', gateway, `${id}\r\n\r\n`)
      await hearRaw('near: a broken head', gateway, `POST /ethereum/${id} HTTP/1.1\r\n${id}\r\n\r\n`)
      await hearRaw('near: a tunnel', gateway, `CONNECT ${id}:443 HTTP/1.1\r\nhost: ${id}\r\n\r\n`)
      await hearRaw('near: two Hosts', gateway, `GET /ethereum/${id} HTTP/1.1\r\nhost: ${id}\r\nhost: x\r\n\r\n`)
      await hearRaw(
        'near: a broken chunk',
        gateway,
        `POST /ethereum/${id} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${id}\r\n`,
      )
    }
    for (const token of [...near(TOKEN), WALLET, `Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}`]) {
      const headers = { authorization: `Bearer ${token}`, cookie: `token=${TOKEN}` }
      for (const path of [
        '/',
        '/metrics',
        '/api/v1/status',
        `/api/v1/status?token=${TOKEN}`,
        `/${TOKEN}`,
        `/api/v1/endpoints/${TOKEN}/x`,
        `/probe?target=${TOKEN}`,
      ]) {
        await hear('near: page', `${daemon.url}${path}`, { headers })
        await hear('near: page, with the token', `${daemon.url}${path}`, {
          headers: { ...AUTHORISED, accept: 'text/html' },
        })
      }
    }

    expect(hits).toEqual([])
  })

  test('every route of the page, with the token and without', { timeout: 120_000 }, async () => {
    const { text } = await hear('openapi', `${daemon.url}/openapi.json`)
    const incidents = await hear('incidents', `${daemon.url}/api/v1/incidents?limit=100`, { headers: AUTHORISED })
    const { incidents: list } = JSON.parse(incidents.text) as { incidents: { id: string }[] }
    expect(list.length).toBeGreaterThan(0)
    const paths = Object.keys((JSON.parse(text) as { paths: object }).paths).filter((path) => path !== '/api/v1/events')
    expect(paths.length).toBeGreaterThan(12)
    const named = paths.flatMap((path) =>
      list.slice(0, path.includes('{id}') ? 8 : 1).flatMap(({ id }) =>
        ['ethereum', 'avalanche', 'multiversx'].map((network) =>
          path
            .replace('{network}', network)
            .replace('{endpoint}', 'a')
            .replace('{id}', id)
            .replace(/^\/probe$/, `/probe?target=${network}/a&debug=true`),
        ),
      ),
    )
    const others = ['/', '/incidents', '/notifications', '/networks/ethereum', '/badge/ethereum/a.svg', '/feed.xml']
    for (const path of new Set([...named, ...others])) {
      for (const headers of [{}, AUTHORISED, { ...AUTHORISED, accept: 'application/openmetrics-text' }]) {
        await hear(path, `${daemon.url}${path}`, { headers })
      }
    }

    expect(hits).toEqual([])
    expect(searched).toBeGreaterThan(1_000_000)
  })

  test('what is written over HTTP and by commands, and what is refused', { timeout: 120_000 }, async () => {
    const silences = `${daemon.url}/api/v1/silences`
    const good = { network: 'ethereum', duration_seconds: 3600, reason: 'drill' }
    const bodies = [
      { ...good, network: TOKEN },
      { ...good, reason: [TOKEN] },
      { ...good, duration_seconds: TOKEN },
      TOKEN,
    ]
    for (const body of [...bodies.map((one) => JSON.stringify(one)), `{"network":"${TOKEN}`]) {
      for (const headers of [AUTHORISED, { ...AUTHORISED, ...json }, { ...json, authorization: `Bearer ${TOKEN}x` }]) {
        const { status } = await hear('written', silences, { method: 'POST', headers, body })
        expect([400, 401, 415]).toContain(status)
      }
    }
    await hear('written: nothing', `${silences}/${TOKEN}`, { method: 'DELETE', headers: AUTHORISED })
    const file = join(folder, 'heartline.yaml')
    const before = readFileSync(file, 'utf8')
    // The commands find the daemon by its address, which was any free port.
    writeFileSync(file, before.replace('"127.0.0.1:0"', `"${new URL(daemon.url).host}"`))
    const ours: { status: number | null; out: string; err: string }[] = []
    for (const args of [
      ['silence', 'ethereum', '--for', '1h', '--reason', 'drill'],
      ['silence', 'list'],
      ['silence', 'end', TOKEN],
      ['note', TOKEN, 'x'],
    ]) {
      ours.push(await heartline(...args))
    }
    writeFileSync(file, before)
    commands.push(...ours)

    expect(ours.map(({ status }) => status)).toEqual([0, 0, 64, 64])
    await hear('written: page', `${daemon.url}/notifications`, { headers: AUTHORISED })
    expect(hits).toEqual([])
  })

  test('the problems of an invalid configuration', { timeout: 240_000 }, async () => {
    const file = join(folder, 'heartline.yaml')
    const good = readFileSync(file, 'utf8')
    const secret = canaries.of('value in a bad configuration')
    const url = canaries.of('path of the url')
    const bad: readonly string[] = [
      good.replace(`/v2/${url}`, ` ${url}`),
      good.replaceAll('"url":"http', '"url":"ftp'),
      good.replace('"x-api-key"', `"${secret} x"`),
      good.replace('"x-api-key":', `"x-api-key":[],"${secret}":`),
      good.replace(`"${TOKEN}"`, `["${TOKEN}"]`),
      good.replace(`"${OPERATOR}"`, `"${OPERATOR} !"`),
      good.replace(`"${OPERATOR}"`, '"${HEARTLINE_WALLET}"'),
      good.replace('"token":', `"${TOKEN}":1,"tokens":`),
      good.replace('${HEARTLINE_KEY}', `\${${secret}-x}`),
      good.replace('${file:secret.txt}', `\${file:/${secret}}`),
      good.replace('secret.txt}', `secret.txt`),
      good.replace('"page.key"', '"gateway.key"'),
      good.replace('"page.crt"', '"page.key"'),
      good.replace('"page.key"', `"${secret}.key"`),
      good.replace('"family":"ethereum"', `"family":"${secret}"`),
      good.replace('"interval":"5s"', `"interval":"${secret}"`),
      good.replace('"networks":["avalanche"]', `"networks":["${secret}"]`),
      good.replace('"operator"', `"${secret} ${OPERATOR}"`),
      // What is no YAML, with a secret at the place that is complained of.
      good.replace(`"${TOKEN}"`, `"${TOKEN}`),
      good.replace(`"${TOKEN}"`, `!!${TOKEN} "x"`),
      good.replace(`"${TOKEN}"`, `*${TOKEN}`),
      good.replace(`"${TOKEN}"`, `"\\q${TOKEN}"`),
      good.replace(`"${TOKEN}"`, `"x", "${TOKEN}": 1, "${TOKEN}": 2`),
      `${TOKEN}: [\n\t${good}`,
      `%${TOKEN}\n---\n${good}`,
      secret,
      '',
    ]
    const folderOfBad = join(folder, 'bad')
    mkdirSync(folderOfBad)
    for (const [at, text] of bad.entries()) {
      expect(text, `${at}`).not.toBe(good)
      writeFileSync(file, text)
      const logged = daemon.log().length
      const news = () => daemon.log().slice(logged)
      daemon.process.kill('SIGHUP')
      await until(() => news().includes('configuration not reloaded'), `bad file ${at} is refused`, 30_000)
      search(`log after bad file ${at}`, news())
      // Commands find the same problems as a reload: they take turns.
      const command = at % 3 === 0 ? ['check-config', 'probe', 'serve'][(at / 3) % 3] : undefined
      if (command !== undefined) commands.push(await heartline(command))
    }
    const logged = daemon.log().length
    writeFileSync(file, good.replace('"limited"', '"renamed"'))
    daemon.process.kill('SIGHUP')
    await until(() => daemon.log().includes('"configuration reloaded"', logged), 'it is reloaded', 30_000)
    await call('reloaded')

    expect(hits).toEqual([])
  })

  test('what the commands say', { timeout: 240_000 }, async () => {
    for (const args of [
      ['check-config'],
      ['probe'],
      ['probe', '--json'],
      ['probe', 'ethereum/a'],
      ['probe', canaries.of('argument').toLowerCase()],
      ['serve'],
      ['backup', join(folder, 'copy.db')],
      ['backup', join(folder, 'copy.db')],
    ]) {
      commands.push(await heartline(...args))
    }

    const told = commands.map(({ out, err }) => `${out}\n${err}`.replaceAll(canaries.of('argument').toLowerCase(), ''))
    for (const [at, text] of told.entries()) search(`command ${at}`, text)
    expect(told.join('\n')).toContain('consistent copy')
    expect(hits).toEqual([])
  })

  test('the live events, the logs and every byte that was written', { timeout: 120_000 }, async () => {
    const files = (when: string) => {
      const own = ['heartline.yaml', 'secret.txt', 'page.key', 'gateway.key', 'bad']
      const names = readdirSync(folder).filter((name) => !own.includes(name))
      for (const name of names) search(`${when}: ${name}`, readFileSync(join(folder, name)))
      return names
    }
    expect(files('running')).toEqual(expect.arrayContaining(['heartline.db', 'heartline.db-wal', 'copy.db']))
    stream.end()
    search('events', stream.text)
    expect(stream.text).toContain('event: status')
    expect(await daemon.stop()).toBe(0)
    files('stopped')
    search('standard error', daemon.log())
    search('standard output', daemon.out())

    expect(hits).toEqual([])
    // All of that was about something: requests were logged and polls failed, by name.
    expect(daemon.log()).toMatch(/"caller":"wallet"[^\n]*"msg":"request"/)
    expect(daemon.log()).toMatch(/"endpoint":"a"/)
    expect(daemon.log()).toContain('admin.alias')
  })
})
