import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { connect as connectTls } from 'node:tls'

/** What `attack.ts` has this process hold open against the daemon, and where. */
export interface AttackOrder {
  readonly hold: readonly AttackName[]
  readonly gatewayPort: number
  readonly pagePort: number
  /** The `endpoint_id` of the caller that attacks. */
  readonly caller: string
}

/** What was held until now; nothing is held afterwards. */
export interface AttackReport {
  readonly opened: number
  readonly sentMiB: number
  readonly receivedMiB: number
  /** How late this process itself was (p99): beyond some milliseconds, it is not as fast as the attack says. */
  readonly lateMs: number
}

/** What this process says first. */
export interface AttackHello {
  readonly names: readonly AttackName[]
  /** Of nodes whose answers do not end while an attack of theirs is held, and that close every connection otherwise. */
  readonly nodes: readonly string[]
}

interface Attack {
  readonly count: number
  open(order: AttackOrder): void
}

interface Repeated {
  readonly ms: number
  readonly bytes: string | (() => string)
}

const BLOCK = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x1000000",false]}'
const ONE_BYTE_CHUNKS = '1\r\n \r\n'.repeat(500)
const HANGING = '{"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{}]}'

/** Rates are constant: what is measured is the daemon, not how much one core can send. */
const ATTACKS = {
  'idle connections to the gateway': { count: 300, open: ({ gatewayPort }) => open(gatewayPort, '') },
  'idle connections to the page': { count: 300, open: ({ pagePort }) => open(pagePort, '') },
  // A TLS record that announces a ClientHello and never completes it.
  'half-open TLS handshakes': {
    count: 300,
    open: ({ pagePort }) => open(pagePort, Buffer.from([22, 3, 1, 2, 0, 1, 0, 1])),
  },
  'unread event streams': { count: 200, open: ({ pagePort }) => openTls(pagePort, requestOfPage('/api/v1/events')) },
  // 200 a second.
  'compressed overviews': {
    count: 20,
    open: ({ pagePort }) => openTls(pagePort, '', { ms: 100, bytes: requestOfPage('/', 'accept-encoding: gzip\r\n') }),
  },
  // 200 a second, none of which was drawn before.
  'overviews that all differ': {
    count: 20,
    open: ({ pagePort }) =>
      openTls(pagePort, '', {
        ms: 100,
        bytes: () => requestOfPage(`/?sort=name&n=${serial++}`, 'accept-encoding: gzip\r\n'),
      }),
  },
  'slow request heads': {
    count: 100,
    open: ({ gatewayPort }) => open(gatewayPort, 'POST / HTTP/1.1\r\n', { ms: 1000, bytes: 'x: y\r\n' }),
  },
  'slow bodies': {
    count: 100,
    open: (order) => open(order.gatewayPort, headOf(order, 'content-length: 1000000'), { ms: 500, bytes: ' ' }),
  },
  'unfinished bodies of 1 MB': {
    count: 66,
    open: (order) => open(order.gatewayPort, headOf(order, 'content-length: 1000000') + ' '.repeat(999_000)),
  },
  'bodies in one-byte chunks': {
    count: 20,
    open: (order) =>
      open(order.gatewayPort, headOf(order, 'transfer-encoding: chunked'), { ms: 20, bytes: ONE_BYTE_CHUNKS }),
  },
  'nodes that answer in one-byte chunks': {
    count: 1,
    open: () => endlessAnswers.push({ start: '', ms: 20, bytes: ONE_BYTE_CHUNKS }),
  },
  'nodes that send a chunk line without end': {
    count: 1,
    open: () => endlessAnswers.push({ start: '1;', ms: 20, bytes: ' '.repeat(3000) }),
  },
  'pipelines of 200 unread answers': {
    count: 100,
    open: (order) => open(order.gatewayPort, requestOf(order, BLOCK).repeat(200)),
  },
  'pipelines of 200 hanging calls': {
    count: 30,
    open: (order) => open(order.gatewayPort, requestOf(order, HANGING).repeat(200)),
  },
  'logs of 28 MiB': { count: 2, open: (order) => ask(order, callOfLogs(0)) },
  'batches of 60 logs of 28 MiB': {
    count: 2,
    open: (order) => ask(order, `[${Array.from({ length: 60 }, (_, nth) => callOfLogs(nth)).join(',')}]`),
  },
  'requests without a pause': { count: 64, open: (order) => flood(order, requestOf(order, BLOCK)) },
} satisfies Record<string, Attack>

export type AttackName = keyof typeof ATTACKS

/** Connections are opened evenly over this time, so that what is held is measured, and not how fast it is opened. */
const OPENING_MS = 3000
/** An attacker tries again after this time when its connection was closed. */
const REOPEN_MS = 1000
/** One poll of each is under way at any time. */
const HOSTILE_NODES = 20
const sockets = new Set<Socket>()
const endlessAnswers: (Repeated & { readonly start: string })[] = []
let opened = 0
let serial = 0
let sent = 0
let received = 0
let isOver = true

function headOf({ caller }: AttackOrder, framing: string): string {
  return `POST /ethereum/${caller} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`
}

function requestOf(order: AttackOrder, call: string): string {
  return `${headOf(order, `content-length: ${call.length}`)}${call}`
}

function requestOfPage(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n`
}

function hold(socket: Socket, again: () => void): void {
  opened++
  sockets.add(socket)
  // A refused or closed connection is what the daemon is allowed to do.
  socket.on('error', () => {})
  socket.once('close', () => {
    sockets.delete(socket)
    sent += socket.bytesWritten
    received += socket.bytesRead
    if (!isOver) setTimeout(() => isOver || again(), REOPEN_MS)
  })
}

/** What the daemon does not take is not sent faster later. */
function repeat(socket: Socket, { ms, bytes }: Repeated): void {
  const timer = setInterval(
    () => socket.writableNeedDrain || socket.write(typeof bytes === 'string' ? bytes : bytes()),
    ms,
  )
  socket.once('close', () => clearInterval(timer))
}

function open(port: number, bytes: string | Buffer, every?: Repeated): void {
  const socket = connect(port, '127.0.0.1', () => start(socket, bytes, every))
  hold(socket, () => open(port, bytes, every))
}

function openTls(port: number, bytes: string, every?: Repeated): void {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => start(socket, bytes, every))
  hold(socket, () => openTls(port, bytes, every))
}

function start(socket: Socket, bytes: string | Buffer, every?: Repeated): void {
  socket.write(bytes)
  // Not reading, such a connection notices only when it writes that it was closed.
  if (every === undefined) return void socket.pause()
  socket.resume()
  repeat(socket, every)
}

/** Starts a node; what it answers to polls depends on the attack that is held. */
function startHostileNode(): Promise<string> {
  let answered = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const answer = endlessAnswers[answered++ % endlessAnswers.length]
      if (answer === undefined) return void socket.destroy()
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${answer.start}`,
      )
      repeat(socket, answer)
      hold(socket, () => {})
    })
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

/** The next request as soon as an answer begins to arrive. */
function flood({ gatewayPort }: AttackOrder, request: string): void {
  const socket = connect(gatewayPort, '127.0.0.1', () => socket.write(request))
  socket.on('data', (bytes: Buffer) => bytes.includes('HTTP/1.1 ') && socket.write(request))
  hold(socket, () => flood({ gatewayPort } as AttackOrder, request))
}

/** Each with other parameters, so that the daemon asks for each. */
function callOfLogs(nth: number): string {
  return `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x${(nth + 2).toString(16)}"}]}`
}

/** The same request again as soon as it is answered. */
function ask(order: AttackOrder, body: string): void {
  const { gatewayPort: port, caller } = order
  const again = () => isOver || ask(order, body)
  let isAnswered = false
  const sending = request({ port, path: `/large/${caller}`, method: 'POST', agent: false }, (response) => {
    response.resume()
    response.once('end', () => {
      isAnswered = true
      again()
    })
  })
  sending.setHeader('content-type', 'application/json')
  sending.once('error', () => {})
  sending.once('socket', (socket) => hold(socket, () => isAnswered || again()))
  sending.end(body)
}

const delay = monitorEventLoopDelay({ resolution: 5 })

process.on('message', (order: AttackOrder | 'release') => {
  if (order !== 'release') {
    isOver = false
    opened = 0
    sent = 0
    received = 0
    delay.reset()
    delay.enable()
    for (const name of order.hold) {
      const { count, open: attack } = ATTACKS[name]
      for (let nth = 0; nth < count; nth++) setTimeout(() => isOver || attack(order), (nth / count) * OPENING_MS)
    }
    return
  }
  isOver = true
  endlessAnswers.length = 0
  delay.disable()
  for (const socket of sockets) {
    sent += socket.bytesWritten
    received += socket.bytesRead
    socket.destroy()
  }
  sockets.clear()
  const report: AttackReport = {
    opened,
    sentMiB: sent / 2 ** 20,
    receivedMiB: received / 2 ** 20,
    lateMs: Math.max(0, delay.percentile(99) / 1e6 - 5),
  }
  process.send?.(report)
})
process.on('disconnect', () => process.exit())
const nodes = await Promise.all(Array.from({ length: HOSTILE_NODES }, startHostileNode))
process.send?.({ names: Object.keys(ATTACKS) as AttackName[], nodes } satisfies AttackHello)
