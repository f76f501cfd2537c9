import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { checkout, runNode } from '../support/project.ts'
import { type Notifications, recordNotifications } from '../support/systemd-notify.ts'

const WALLET = 'wallet-0123456789abcdef'
const DESCRIPTORS = 256
/** Longer than the second between two looks of the daemon at its own memory. */
const FLOOD_MS = 4000
const WATCHDOG_MS = 5000
/** Hundreds of sockets wait so long at once: a thousand connections a second. */
const REOPEN_MS = 250

/** Networks whose node leaves every request for a transaction unanswered. */
const HANGING = ['hanging-1', 'hanging-2', 'hanging-3', 'hanging-4']

let folder: string
let nodes: SimulatedNode[] = []
let hanging: Server[] = []
let notifications: Notifications
let daemon: RunningDaemon
let gateway: string
let sockets: Socket[] = []

beforeAll(async () => {
  const chain = createChain({ clock: systemClock, seed: 'flood', blockTimeMs: 500 })
  const kind = { family: 'ethereum' } as const
  nodes = await Promise.all(['a', 'b'].map((name) => startSimulatedNode({ clock: systemClock, chain, kind, name })))
  hanging = HANGING.map(() => startHanging(nodes[0]!.url))
  await Promise.all(hanging.map((server) => once(server, 'listening')))
  folder = temporaryFolder()
  notifications = recordNotifications(folder, WATCHDOG_MS)
  daemon = await startDaemon(
    {
      poll: { interval: '1s', timeout: '1s' },
      networks: [
        {
          name: 'net',
          family: 'ethereum',
          block_time: '500ms',
          endpoints: nodes.map(({ name, url }) => ({ name, url })),
        },
        ...hanging.map((server, at) => ({
          name: HANGING[at],
          family: 'ethereum',
          block_time: '500ms',
          endpoints: [{ name: 'a', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }],
        })),
      ],
      gateway: {
        enabled: true,
        listen: '127.0.0.1:0',
        callers: [{ name: 'wallet', endpoint_id: WALLET }],
      },
    },
    {
      folder,
      descriptors: DESCRIPTORS,
      env: notifications.env,
    },
  )
  gateway = /"url":"(http[^"]+)"[^\n]*"msg":"gateway listening"/.exec(daemon.log())![1]!
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(async () => {
  await daemon.stop('SIGKILL')
  for (const server of hanging) server.close().closeAllConnections()
  await Promise.all(nodes.map((node) => node.stop()))
  removeFolder(folder)
})

/** A node that answers everything else as the one at `url` does. */
function startHanging(url: string): Server {
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    if (body.includes('eth_getTransactionByHash')) return
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    response.end(await answer.text())
  }
  return createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1')
}

/** Opens so many connections that send nothing, and until the end opens every one again that is closed. */
async function flood(url: string, count: number, end: Promise<unknown>): Promise<void> {
  const { hostname, port } = new URL(url)
  let isOver = false
  const open = (): void => {
    if (isOver) return
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('close', () => setTimeout(open, REOPEN_MS))
  }
  for (let one = 0; one < count; one++) open()
  await end
  isOver = true
}

function closeAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy()
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The health check of the container. */
async function checkHealth() {
  const env = { ...process.env, HEARTLINE_HEALTH_URL: `${daemon.url}/-/healthy` }
  return runNode(checkout, ['packaging/healthcheck.mjs'], env).ended
}

const descriptors = (): number => readdirSync(`/proc/${daemon.process.pid}/fd`).length
const signsOfLife = (): number => notifications.sent().filter((sent) => sent === 'WATCHDOG=1').length
const polls = async (): Promise<number> => {
  const { text } = await daemon.get('/metrics')
  return Number(/^heartline_checks_total\{network="net",endpoint="a",check="head"\} (\d+)$/m.exec(text)?.[1])
}
const ask = async (network = 'net', body: unknown = call('eth_chainId'), signal?: AbortSignal): Promise<number> => {
  const answer = await fetch(`${gateway}${network}/${WALLET}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ?? null,
  })
  return answer.status
}
const call = (method: string, ...params: string[]) => ({ jsonrpc: '2.0', id: 1, method, params })

test.each([
  ['page', () => [daemon.url]],
  ['gateway', () => [gateway]],
  ['page and the gateway', () => [daemon.url, gateway]],
])(
  'a flood of connections to the %s uses up no descriptors that polls need, and page and gateway answer',
  async (_name, urls) => {
    const before = { polls: await polls(), signs: signsOfLife() }

    // The flood has taken what it can.
    const halfway = pause(FLOOD_MS / 2)
    const health = halfway.then(checkHealth)
    const call = halfway.then(() =>
      until(async () => (await ask().catch(() => null)) === 200, 'the gateway answers during the flood'),
    )
    // Three are sent in the time of the watchdog.
    const alive = until(() => signsOfLife() > before.signs + 3, 'signs of life during the flood')
    const end = Promise.all([pause(FLOOD_MS), health, call, alive])
    await Promise.all(urls().map((url) => flood(url, 2 * DESCRIPTORS, end)))

    expect(await health).toMatchObject({ status: 0, stderr: '' })
    expect(daemon.process.exitCode).toBeNull()
    expect(descriptors()).toBeLessThan(DESCRIPTORS - 10)
    expect(notifications.longestGapMs()).toBeLessThan(WATCHDOG_MS)
    closeAll()
    await until(async () => (await daemon.get('/-/ready').catch(() => null))?.status === 200, 'the page answers again')
    await until(async () => (await ask().catch(() => null)) === 200, 'the gateway answers again')
    expect(await polls()).toBeGreaterThanOrEqual(before.polls + FLOOD_MS / 1000 - 1)
    const { text } = await daemon.get('/metrics')
    expect(text).toContain('heartline_endpoint_state_changes_total{network="net",endpoint="a"} 0\n')
    // A busy machine may be late with a poll, but never without a descriptor for it.
    expect(text).not.toMatch(/check_failures_total\{[^}]*endpoint="[ab]"[^}]*reason="(?!timeout)/)
    expect((await daemon.status()).state).toBe('up')
  },
  60_000,
)

test('calls that nodes leave unanswered use up no descriptors that polls and the page need', async () => {
  const before = await polls()
  const end = new AbortController()
  const batch = (from: number) =>
    Array.from({ length: 64 }, (_, at) =>
      call('eth_getTransactionByHash', `0x${(from + at).toString(16).padStart(64, '0')}`),
    )
  const calls = HANGING.flatMap((network) =>
    Array.from({ length: 6 }, (_, at) => ask(network, batch(100 * at), end.signal).catch(() => null)),
  )

  await pause(FLOOD_MS / 2)

  expect(descriptors()).toBeLessThan(DESCRIPTORS - 10)
  expect((await daemon.get('/-/healthy')).status).toBe(200)
  expect(await ask()).toBe(200)
  await until(async () => (await polls()) > before + 2, 'polls go on')
  end.abort()
  await Promise.all(calls)
  const { text } = await daemon.get('/metrics')
  expect(text).not.toMatch(/check_failures_total\{[^}]*endpoint="[ab]"[^}]*reason="(?!timeout)/)
})

test('an unfinished head ends its connection after 10 s, an unfinished request after 15 s', async () => {
  const { hostname, port } = new URL(daemon.url)
  const lasts = (text: string) =>
    new Promise<number>((resolve) => {
      const from = performance.now()
      const socket = connect(Number(port), hostname, () => socket.write(text))
      sockets.push(socket)
      socket.on('error', () => {}).on('close', () => resolve(performance.now() - from))
      socket.resume()
    })
  const post = 'POST /api/v1/silences HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

  const [head, request] = await Promise.all([lasts(post), lasts(`${post}content-length: 10\r\n\r\n{`)])

  expect(head).toBeGreaterThan(9_900)
  expect(request).toBeGreaterThan(14_900)
  // Node looks once a second.
  expect(head).toBeLessThan(request)
})
