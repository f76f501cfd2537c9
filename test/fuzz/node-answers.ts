import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { readNodeAnswer } from '../../src/gateway/failover/node-answer.ts'
import { createAddress } from '../../src/nodes/address.ts'
import { createNodeForwarder } from '../../src/nodes/forward.ts'
import { createProber } from '../../src/nodes/probe.ts'
import { Secret } from '../../src/secret.ts'
import { finish } from '../support/finish.ts'
import { endpoint } from '../support/network.ts'
import { hostileResponse } from './hostile-responses.ts'

/**
 * Sends damaged HTTP responses over real sockets to polls and to the gateway's forwarder. No answer may reach another request, nothing may
 * throw, hang beyond its deadline, or keep memory. For hours: `npx tsx test/fuzz/node-answers.ts --minutes 60 [--seed N]`.
 */
export async function fuzzNodeAnswers({
  forMs,
  seed,
  maxCases = Number.POSITIVE_INFINITY,
}: FuzzOptions): Promise<FuzzReport> {
  const node = await startHostileNode(seed)
  const problems: string[] = []
  const note = (problem: string): void => void problems.push(`${problem} (seeds up to ${node.lastSeed()})`)
  const onThrow = (error: unknown): void => note(`thrown: ${error instanceof Error ? error.stack : String(error)}`)
  process.on('uncaughtException', onThrow).on('unhandledRejection', onThrow)
  const tally = { polls: 0, headsRead: 0, forwarded: 0, answers: 0 }
  const prober = createProber({ clock: systemClock, maxConnections: 6 })
  const forwarder = createNodeForwarder({ clock: systemClock, maxConnections: 6, maxIncomingBytes: 64 * 2 ** 20 })
  const endAt = performance.now() + forMs
  const goesOn = () => performance.now() < endAt && problems.length === 0 && node.lastSeed() - seed < maxCases

  prober.retarget(
    LANES.map((lane) => ({
      endpoint: pollEndpoint(lane),
      url: new Secret(node.url),
      headers: {},
      rpcPath: `/poll/${lane}`,
      kind: 'proxy',
      chainId: null,
      tls: TLS,
      timeoutMs: DEADLINE_MS,
    })),
  )

  async function poll(lane: number): Promise<void> {
    const path = `/poll/${lane}`
    while (goesOn()) {
      node.expect(path)
      const [head] = (await inTime(prober.poll(pollEndpoint(lane), NEVER), note)).heads
      tally.polls++
      if (head === undefined || !head.outcome.ok) continue
      tally.headsRead++
      if (node.isForeign(path, head.outcome.value.hash)) note(`poll ${path} read the block of another request`)
    }
  }

  async function forward(lane: number): Promise<void> {
    const path = `/forward/${lane}`
    const address = createAddress({ url: new Secret(node.url), headers: {}, tls: TLS })
    for (let id = lane * 1_000_000; goesOn(); id++) {
      node.expect(path)
      const request = { method: 'POST', path, body: `{"id":${id}}` } as const
      const forwarded = await inTime(
        forwarder.forward(address, request, DEADLINE_MS, new AbortController().signal),
        note,
      )
      tally.forwarded++
      if (!forwarded.ok) continue
      const { body } = forwarded.answer
      if (finish(readNodeAnswer(body, String(id))).kind !== 'result') continue
      tally.answers++
      for (const hash of body.toString('latin1').match(/0x[0-9a-f]{64}/g) ?? []) {
        if (node.isForeign(path, hash)) note(`request ${id} of ${path} was answered with the answer of another request`)
      }
    }
  }

  await Promise.all(LANES.flatMap((lane) => [poll(lane), forward(lane)]))
  prober.close()
  forwarder.close()
  await node.stop()
  await new Promise((resolve) => setTimeout(resolve, 50))
  process.off('uncaughtException', onThrow).off('unhandledRejection', onThrow)
  return { ...tally, cases: node.lastSeed() - seed, problems, rssBytes: process.memoryUsage.rss() }
}

export interface FuzzOptions {
  readonly forMs: number
  /** That of the first response; each further one has the next. */
  readonly seed: number
  readonly maxCases?: number
}

export interface FuzzReport {
  readonly cases: number
  readonly polls: number
  readonly headsRead: number
  readonly forwarded: number
  readonly answers: number
  readonly problems: readonly string[]
  readonly rssBytes: number
}

const LANES = Array.from({ length: 12 }, (_, lane) => lane)
const DEADLINE_MS = 250
/** For a busy machine. */
const LATEST_MS = 10_000
const TLS = { ca: null, insecure: false }
const NEVER = new AbortController().signal

function pollEndpoint(lane: number): Endpoint {
  return endpoint(`e${lane}`)
}

async function inTime<T>(result: Promise<T>, note: (problem: string) => void): Promise<T> {
  const timer = setTimeout(() => note(`no result within ${LATEST_MS} ms`), LATEST_MS)
  try {
    return await result
  } finally {
    clearTimeout(timer)
  }
}

async function startHostileNode(firstSeed: number) {
  let seed = firstSeed
  const sent = new Set<string>()
  /** By path: what was sent for the present request. */
  const current = new Map<string, Set<string>>()
  const sockets = new Set<Socket>()

  function respond(socket: Socket, head: string, body: string): void {
    const path = /^\w+ (\S+)/.exec(head)?.[1] ?? ''
    const id = /"id":(\d+)/.exec(body)?.[1] ?? '0'
    const hash = `0x${createHash('sha256').update(String(seed)).digest('hex')}`
    if (sent.size > 100_000) sent.clear()
    sent.add(hash)
    current.get(path)?.add(hash)
    const { pieces, ending } = hostileResponse(seed++, id, hash)
    void write(socket, pieces).then(() => {
      if (ending === 'end') socket.end()
      else if (ending === 'reset') socket.resetAndDestroy()
    })
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    let text = ''
    socket.setEncoding('latin1').on('data', (data) => {
      text += String(data)
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end === -1 || text.length < end + 4 + length) return
      const head = text.slice(0, end)
      const body = text.slice(end + 4, end + 4 + length)
      text = text.slice(end + 4 + length)
      respond(socket, head, body)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lastSeed: () => seed,
    /** A new request begins on this path. */
    expect: (path: string) => void current.set(path, new Set()),
    /** Whether this hash was sent for another request than the present one of this path. */
    isForeign: (path: string, hash: string) => sent.has(hash) && !current.get(path)?.has(hash),
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function write(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string) => process.argv[process.argv.indexOf(`--${name}`) + 1]
  const seed = process.argv.includes('--seed') ? Number(option('seed')) : Date.now() % 2 ** 31
  const minutes = process.argv.includes('--minutes') ? Number(option('minutes')) : 1
  console.log(`seed ${seed}, ${minutes} minutes`)
  const report = await fuzzNodeAnswers({ forMs: minutes * 60_000, seed })
  console.log(report)
  process.exitCode = report.problems.length > 0 ? 1 : 0
}
