import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import { createAddress, type NodeAddress } from '../../src/nodes/address.ts'
import { createNodeClient, type NodeClient, type NodeClientDeps, type Sent } from '../../src/nodes/client.ts'
import { Deadline } from '../../src/nodes/deadline.ts'
import { createProber, type NodeTarget, type Prober, type ProberDeps } from '../../src/nodes/probe.ts'
import { Secret } from '../../src/secret.ts'

export interface RawNode {
  readonly url: string
  /** Connections that it accepted. */
  readonly accepted: () => number
  /** Resolves when a connection to it was closed. */
  readonly closed: Promise<unknown>
}

/** A node that writes whatever bytes it likes: `onRequest` runs for each chunk that comes in. */
export async function rawNode(
  onRequest: (socket: Socket, request: string, connection: number) => void,
  create: (onSocket: (socket: Socket) => void) => Server = createServer,
): Promise<RawNode> {
  let accepted = 0
  const sockets = new Set<Socket>()
  let tellClosed: (value?: unknown) => void = () => {}
  const closed = new Promise((resolve) => {
    tellClosed = resolve
  })
  const server = create((socket) => {
    const connection = ++accepted
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', tellClosed)
    socket.on('data', (chunk) => onRequest(socket, chunk.toString(), connection))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, accepted: () => accepted, closed }
}

/** A whole HTTP answer. */
export function answer(body: string | Buffer, headers = '', status = '200 OK'): Buffer {
  const bytes = Buffer.from(body)
  const head = `HTTP/1.1 ${status}\r\ncontent-length: ${bytes.length}\r\n${headers}\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

export function nodeClient(over: Partial<NodeClientDeps> = {}): NodeClient {
  const client = createNodeClient({ clock: systemClock, maxConnections: 8, lookup: null, ...over })
  onTestFinished(() => client.close())
  return client
}

export function proberOf(targets: readonly NodeTarget[], over: Partial<ProberDeps> = {}): Prober {
  const prober = createProber({ clock: systemClock, ...over })
  onTestFinished(() => prober.close())
  prober.retarget(targets)
  return prober
}

export function addressOf(
  url: string,
  over: { ca?: string; insecure?: boolean; headers?: Record<string, string> } = {},
) {
  const { ca = null, insecure = false, headers = {} } = over
  const secrets = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, new Secret(value)]))
  return createAddress({ url: new Secret(url), headers: secrets, tls: { ca, insecure } })
}

export const GET = { method: 'GET', path: '/head', body: null } as const
export const POST = { method: 'POST', path: '/', body: '{"jsonrpc":"2.0","id":1}' } as const

/** Sends one request under a deadline of its own. */
export async function send(
  client: NodeClient,
  address: NodeAddress | string,
  { clock = systemClock, request = GET, afterMs = 10_000 }: SendOptions = {},
): Promise<Sent> {
  const deadline = new Deadline(clock, afterMs, new AbortController().signal)
  try {
    return await client.send(typeof address === 'string' ? addressOf(address) : address, request, deadline)
  } finally {
    deadline.end()
  }
}

interface SendOptions {
  readonly clock?: Pick<Clock, 'after' | 'monotonic'>
  readonly request?: typeof GET | typeof POST
  readonly afterMs?: number
}

export function failureOf(sent: Sent): unknown {
  return sent.ok ? 'no failure' : sent.failure
}

export function bodyOf(sent: Sent): string {
  return sent.ok ? sent.answer.body.toString() : `failed: ${JSON.stringify(sent.failure)}`
}
