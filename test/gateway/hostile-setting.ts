import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Family } from '../../src/core/network.ts'
import type { CallerSettings } from '../../src/gateway/request/callers.ts'
import type { ListenerOptions } from '../../src/gateway/request/listener.ts'
import { createGatewayService, type GatewayService } from '../../src/gateway/service.ts'
import { Secret } from '../../src/secret.ts'
import { freePort } from '../support/free-port.ts'
import { recordingLog } from '../support/log.ts'
import { endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { ADMIN_ID, caller, ID, UNCOUNTED } from './setting.ts'

/** What a node was asked: all that came over the wire. */
export interface Asked {
  readonly node: string
  readonly line: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** One HTTP answer as it came over the wire. */
export interface Told {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface HostileSetting {
  readonly service: GatewayService
  readonly port: number
  readonly url: string
  readonly asked: Asked[]
  readonly log: ReturnType<typeof recordingLog>
  /** Writes these bytes (of a text one a character) to a connection of their own, and gives all answers until it is closed. */
  send(bytes: string | Buffer): Promise<readonly Told[]>
  /** A connection of its own, that the test writes to. */
  open(): Talk
  /** That others are served as if nothing had happened, and that no secret was said or logged. */
  expectUnharmed(): Promise<void>
}

export interface Talk {
  readonly socket: Socket
  write(bytes: string | Buffer): void
  answers(): readonly Told[]
  /** Resolves when there are so many answers. */
  until(count: number): Promise<readonly Told[]>
  /** Resolves when the gateway has closed it. */
  closed(): Promise<readonly Told[]>
  /** Resolves when the gateway has closed it, or keeps it after an answer because nothing asked it to close. */
  settled(): Promise<readonly Told[]>
}

export interface HostileOptions {
  readonly bodyLimitBytes?: number
  readonly batchLimit?: number
  readonly timeoutMs?: number
  readonly arrival?: ListenerOptions['timeouts']
  /** Instead of well-behaved nodes. */
  readonly nodes?: Readonly<Record<string, { readonly family: Family; readonly url: string }>>
  readonly callers?: readonly CallerSettings[]
  /** Sent along with every request to a node. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cacheMaxBytes?: number
}

/** The block that was requested. */
const blockOf = (params: readonly unknown[]) =>
  JSON.stringify({
    number: String(params[0]).startsWith('0x') ? params[0] : '0x3e8',
    hash: `0x${'ab'.repeat(32)}`,
    transactions: [],
  })

/** A node of all families that records its requests. */
async function startRecordingNode(name: string, asked: Asked[]): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { method, url = '', headers } = request
      asked.push({ node: name, line: `${method} ${url}`, headers, body })
      response.setHeader('content-type', 'application/json')
      if (method === 'GET') {
        response.end('{"data":{"status":{"erd_nonce":1000}},"error":"","code":"successful"}')
        return
      }
      const { id, method: rpcMethod, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] }
      const result =
        rpcMethod === 'admin.alias' ? '{}' : rpcMethod === 'eth_getBlockByNumber' ? blockOf(params) : '"0x1"'
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
    })
  })
  await once(server.listen(await freePort(), '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The whole gateway on a real socket, with real nodes of three networks behind it. */
export async function openHostile(options: HostileOptions = {}): Promise<HostileSetting> {
  const asked: Asked[] = []
  const log = recordingLog()
  const nodes = options.nodes ?? {
    ethereum: { family: 'ethereum', url: await startRecordingNode('ethereum', asked) },
    avalanche: { family: 'avalanche', url: await startRecordingNode('avalanche', asked) },
    multiversx: { family: 'multiversx', url: await startRecordingNode('multiversx', asked) },
  }
  const places = Object.entries(nodes).map(([name, { family, url }]) => {
    const of = network({ name, family })
    const shards = family === 'multiversx' ? [0, 1] : [null]
    return { of, url, shards, endpoint: endpoint('n', { network: name, family, shards }) }
  })
  const world = createWorld(
    systemClock,
    places.map(({ of, endpoint: one }) => ({ network: of, endpoints: [one] })),
  )
  await world.pollAll()
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([key, value]) => [key, new Secret(value)]),
  )
  const service = createGatewayService({
    listen: { host: '127.0.0.1', port: 0, tls: null, ...(options.arrival && { timeouts: options.arrival }) },
    limits: { connections: 128, largeAnswerBytes: 512 * 2 ** 20 },
    setup: {
      rules: {
        admin: true,
        callers: options.callers ?? [caller('wallet', ID), caller('operator', ADMIN_ID, { admin: true })],
        networks: places.map(({ of, shards }) => ({
          network: of,
          shards,
          host: of.name === 'ethereum' ? 'eth.example.org' : null,
          endpoints: ['n'],
        })),
        timeoutMs: options.timeoutMs ?? 20_000,
        bodyLimitBytes: options.bodyLimitBytes ?? 4096,
        batchLimit: options.batchLimit ?? 20,
      },
      targets: places.map(({ url, endpoint: one, of }) => nodeTarget(one, url, { headers, chainId: of.chainId })),
      cacheMaxBytes: options.cacheMaxBytes ?? 2 ** 20,
      finalDepths: new Map(),
    },
    board: world.board,
    store: { saveAlias() {}, adminCall() {}, flush: async () => {} },
    aliases: [],
    onDoubt() {},
    metrics: UNCOUNTED,
    clock: systemClock,
    log,
  })
  const { port } = await service.listen()
  const talks: Socket[] = []
  onTestFinished(async () => {
    for (const socket of talks) socket.destroy()
    await service.close()
  })

  function open(): Talk {
    const talk = talkTo(port)
    talks.push(talk.socket)
    return talk
  }

  return {
    service,
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    log,
    send(bytes) {
      const talk = open()
      talk.write(bytes)
      return talk.closed()
    },
    open,
    async expectUnharmed() {
      const before = asked.length
      const talk = open()
      talk.write(post(`/ethereum/${ID}`, GOOD))
      expect((await talk.closed()).map(brief)).toEqual(['200 result 1'])
      expect(asked.slice(before).map(({ line }) => line)).toEqual(['POST /'])
      asked.length = before
      expect(service.report().requestsInFlight).toBe(0)
      expect(JSON.stringify(log.lines)).not.toContain(ID)
      expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
    },
  }
}

const WITHIN_MS = 30_000

function talkTo(port: number): Talk {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let text = ''
  let isClosed = false
  const watchers = new Set<() => void>()
  const look = () => {
    for (const watcher of watchers) watcher()
  }
  socket.on('data', (chunk) => {
    text += String(chunk)
    look()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    look()
  })
  const wait = (holds: () => boolean, what: string) =>
    new Promise<readonly Told[]>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        watchers.delete(watcher)
        settle()
      }
      const watcher = () => {
        try {
          if (holds()) end(() => resolve(readAnswers(text)))
        } catch (error) {
          end(() => reject(error))
        }
      }
      const timer = setTimeout(() => {
        end(() => reject(new Error(`not ${what} within ${WITHIN_MS} ms; so far: ${text.slice(0, 500)}`)))
      }, WITHIN_MS)
      watchers.add(watcher)
      watcher()
    })
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    answers: () => readAnswers(text),
    until: (count) => wait(() => readAnswers(text).length >= count, `${count} answers`),
    closed: () => wait(() => isClosed, 'closed'),
    settled: () =>
      wait(() => isClosed || readAnswers(text).at(-1)?.headers.get('connection') === 'keep-alive', 'settled'),
  }
}

/** All answers that are whole; what is no HTTP is an error of the test. */
function readAnswers(text: string): Told[] {
  const answers: Told[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end === -1) break
    const [line = '', ...lines] = text.slice(at, end).split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(line) ?? []
    if (status === undefined) throw new Error(`no HTTP: ${JSON.stringify(text.slice(at, at + 200))}`)
    const headers = new Map(
      lines.map((header) => {
        const colon = header.indexOf(':')
        return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()]
      }),
    )
    const length = Number(headers.get('content-length') ?? 0)
    if (text.length < end + 4 + length) break
    answers.push({ status: Number(status), headers, body: text.slice(end + 4, end + 4 + length) })
    at = end + 4 + length
  }
  return answers
}

/** An answer in few words: status, what it says, and the id that it is to, as its bytes are. */
export function brief({ status, headers, body }: Told): string {
  if (status < 200 || status === 204) return String(status)
  expect(headers.get('content-type')).toBe('application/json')
  const parsed: any = JSON.parse(body)
  if (Array.isArray(parsed)) return `${status} batch of ${parsed.length}`
  if (parsed.jsonrpc === undefined) return `${status} rest ${parsed.code}`
  const [, id] = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[^",]+),/.exec(body) ?? []
  return `${status} ${parsed.error?.code ?? 'result'} ${id}`
}

export const GOOD = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'

/** A whole request that ends its connection, as text of one byte a character. */
export function post(target: string, body: string | Buffer, headers = ''): string {
  const bytes = Buffer.from(body as string).toString('latin1')
  return `POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n${headers}content-length: ${bytes.length}\r\n\r\n${bytes}`
}

export function get(target: string, headers = ''): string {
  return `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`
}
