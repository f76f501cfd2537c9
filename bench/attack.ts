import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { quantile, startFleetProcess } from './support.ts'

/**
 * Every way to hold resources open, all at once, against the built daemon: idle connections, half-open TLS handshakes, slow heads and
 * bodies, one-byte chunks, unread event streams and unread answers. Reports what a good caller and the polls notice.
 *
 * `npx tsx bench/attack.ts [seconds a phase]`
 */
const [, , seconds = '20'] = process.argv
const PHASE_MS = Number(seconds) * 1000
const GOOD = 'good-caller-0123456789'
const BAD = 'bad-caller-0123456789a'
const POLLED = 200
const GOOD_PER_SECOND = 200
const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
const TLS_FILE = (name: string) => fileURLToPath(new URL(`../test/config/tls/${name}`, import.meta.url))

const agent = new Agent({ connect: { rejectUnauthorized: false } })
const held: Socket[] = []

async function startNode(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(fileURLToPath(new URL('node-process.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  const { port } = await new Promise<{ port: number }>((resolve) =>
    child.once('message', (message) => resolve(message as { port: number })),
  )
  return { child, port }
}

const node = await startNode()
const fleet = await startFleetProcess({ family: 'ethereum', count: POLLED })
const folder = mkdtempSync(join(tmpdir(), 'heartline-attack-'))
const file = join(folder, 'heartline.yaml')
writeFileSync(
  file,
  JSON.stringify({
    server: { listen: '127.0.0.1:0', tls: { cert: TLS_FILE('a.crt'), key: TLS_FILE('a.key') } },
    networks: [
      { name: 'ethereum', family: 'ethereum', endpoints: [{ name: 'node', url: `http://127.0.0.1:${node.port}` }] },
      {
        name: 'fleet',
        family: 'ethereum',
        poll: { interval: '1s' },
        endpoints: fleet.urls.map((url, at) => ({ name: `e${at}`, url })),
      },
    ],
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      callers: [
        { name: 'good', endpoint_id: GOOD },
        { name: 'bad', endpoint_id: BAD },
      ],
    },
  }),
)
const daemon = spawn(process.execPath, [MAIN, 'serve', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
let log = ''
daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
  log += text
})

async function waitFor<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await pause(50)
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const page = await waitFor(() => /"url":"(https[^"]+)\/"[^\n]*"msg":"listening"/.exec(log)?.[1])
const pagePort = Number(new URL(page).port)
const gatewayPort = Number(/:(\d+)\/"[^\n]*"msg":"gateway listening"/.exec(log)?.[1])
await waitFor(async () =>
  (await request(`${page}/-/ready`, { dispatcher: agent })).statusCode === 200 ? true : undefined,
)

/** Upper bounds of the buckets of scheduler lag with their counts so far. */
async function lagBuckets(): Promise<[string, number][]> {
  const { body } = await request(`${page}/metrics`, { dispatcher: agent })
  const text = await body.text()
  return [...text.matchAll(/^heartline_scheduler_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
    ([, le = '', count]) => [le, Number(count)],
  )
}

function p99(before: readonly [string, number][], after: readonly [string, number][]): string {
  const counts = after.map(([le, count], at) => [le, count - (before[at]?.[1] ?? 0)] as const)
  const all = counts.at(-1)?.[1] ?? 0
  return counts.find(([, count]) => count >= 0.99 * all)?.[0] ?? 'none'
}

const rssMiB = () =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)

/** A good caller at a constant rate, and the polls, for one phase. */
async function measure(name: string): Promise<void> {
  const latencies: number[] = []
  let failed = 0
  const before = await lagBuckets()
  const startedAt = performance.now()
  let most = 0
  const running: Promise<unknown>[] = []
  for (let turn = 0; performance.now() - startedAt < PHASE_MS; ) {
    for (; turn < ((performance.now() - startedAt) / 1000) * GOOD_PER_SECOND; turn++) running.push(good(turn))
    most = Math.max(most, rssMiB())
    await pause(5)
  }
  await Promise.all(running)
  const lag = p99(before, await lagBuckets())
  const ms = (share: number) => quantile(latencies, share).toFixed(1)
  console.log(
    `${name}: good caller ${latencies.length} answered, ${failed} failed, p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms; ` +
      `polls at most ${lag} s late (p99); memory at most ${most} MiB`,
  )

  async function good(turn: number): Promise<void> {
    const dueAt = performance.now()
    const call = {
      jsonrpc: '2.0',
      id: turn,
      method: 'eth_getBlockByNumber',
      params: [`0x${(0x1000000 + turn).toString(16)}`, false],
    }
    try {
      const { statusCode, body } = await request(`http://127.0.0.1:${gatewayPort}/ethereum/${GOOD}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(call),
      })
      const text = await body.text()
      if ((statusCode !== 200 || !text.includes('"result"')) && failed++ === 0) console.error(text.slice(0, 200))
    } catch {
      failed++
    }
    latencies.push(performance.now() - dueAt)
  }
}

function open(port: number, bytes: string | Buffer, every?: { readonly ms: number; readonly bytes: string }): void {
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(bytes)
    if (every === undefined) return
    const timer = setInterval(() => socket.write(every.bytes), every.ms)
    socket.once('close', () => clearInterval(timer))
  })
  // A refused or closed connection is what the daemon is allowed to do.
  socket.on('error', () => {})
  socket.pause()
  held.push(socket)
}

const post = (length: string) =>
  `POST /ethereum/${BAD} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${length}\r\n\r\n`
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x1000000",false]}'
const ATTACKS: readonly (readonly [name: string, count: number, attack: () => void])[] = [
  ['idle connections to the gateway', 300, () => open(gatewayPort, '')],
  ['idle connections to the page', 300, () => open(pagePort, '')],
  // A TLS record that announces a ClientHello and never completes it.
  ['half-open TLS handshakes', 300, () => open(pagePort, Buffer.from([22, 3, 1, 2, 0, 1, 0, 1]))],
  ['slow request heads', 100, () => open(gatewayPort, 'POST / HTTP/1.1\r\n', { ms: 1000, bytes: 'x: y\r\n' })],
  ['slow bodies', 100, () => open(gatewayPort, post('content-length: 1000000'), { ms: 500, bytes: ' ' })],
  ['unfinished bodies of 1 MB', 66, () => open(gatewayPort, post('content-length: 1000000') + ' '.repeat(999_000))],
  [
    'bodies in one-byte chunks',
    20,
    () => open(gatewayPort, post('transfer-encoding: chunked'), { ms: 20, bytes: '1\r\n \r\n'.repeat(500) }),
  ],
  ['unread answers', 100, () => open(gatewayPort, `${post(`content-length: ${call.length}`)}${call}`.repeat(200))],
]

await measure('alone')
const streams = Array.from({ length: 200 }, () =>
  request(`${page}/api/v1/events`, { dispatcher: new Agent({ connect: { rejectUnauthorized: false } }) }).catch(
    () => null,
  ),
)
for (const [name, count, attack] of ATTACKS) {
  for (let nth = 0; nth < count; nth++) attack()
  console.log(`open: ${count} ${name}`)
}
const answered = (await Promise.all(streams)).filter((response) => response?.statusCode === 200).length
console.log(`open: ${answered} of 200 event streams, none of them read`)
await measure('under attack')
for (const socket of held) socket.destroy()
await measure('afterwards')
const { statusCode } = await request(`${page}/-/healthy`, { dispatcher: agent })
console.log(`the daemon answers ${statusCode} at the end`)

daemon.kill()
node.child.disconnect()
fleet.stop()
rmSync(folder, { recursive: true, force: true })
process.exit(0)
