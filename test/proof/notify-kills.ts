import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import { bundled } from '../support/bundled.ts'
import { type RunningDaemon, startDaemon, until } from '../support/daemon.ts'

const CHILD = fileURLToPath(new URL('./children/notify.ts', import.meta.url))

export interface Reception {
  readonly id: string
  readonly type: string
  readonly incidents: readonly string[]
  readonly text: string
}

interface Outcome {
  /** In the order in which they arrived, doubles included. */
  readonly received: readonly Reception[]
  readonly refused: number
  readonly killed: number
}

/**
 * Kills one process after the other while it tells a webhook of `incidents` incidents that open and close, and lets the last one
 * finish. The webhook sometimes fails, closes the connection, answers late, or keeps a message without an answer.
 */
export async function killWhileNotifying(options: {
  readonly incidents: number
  readonly kills: number
  readonly directory: string
  readonly random: () => number
}): Promise<Outcome> {
  const { incidents, kills, directory, random } = options
  const receiver = await startReceiver(random)
  const { received, url } = receiver
  const program = await bundled(CHILD)
  const start = async (): Promise<ChildProcess> => {
    // Without the loader of this process: the program is plain JavaScript, and starts in half the time.
    const child = fork(program, [join(directory, 'store.db'), url, String(incidents), '40'], { execArgv: [] })
    const ended = once(child, 'exit')
    await Promise.race([once(child, 'message'), ended])
    if (child.exitCode !== null) throw new Error(`the child ended with ${child.exitCode}`)
    return child
  }
  let killed = 0
  for (; killed < kills; killed++) {
    const child = await start()
    const ended = once(child, 'exit')
    await systemClock.sleep(10 + random() * 380)
    child.kill('SIGKILL')
    await ended
    // An earlier end than its kill: everything is sent already.
    if (child.signalCode !== 'SIGKILL') break
  }
  receiver.heal()
  const last = await start()
  const [status] = (await once(last, 'exit')) as [number | null]
  receiver.stop()
  if (status !== 0) throw new Error(`the last child ended with ${status}`)
  return { received, refused: receiver.refused(), killed }
}

/** A webhook that until it is healed fails now and then, closes the connection, answers late, or keeps a message without an answer. */
async function startReceiver(random: () => number) {
  const received: Reception[] = []
  let refused = 0
  let isHealed = false
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const dice = isHealed ? 1 : random()
      if (dice < 0.1) {
        refused++
        return dice < 0.05 ? response.writeHead(500).end() : request.socket.destroy()
      }
      const { type, data } = JSON.parse(Buffer.concat(chunks).toString()) as {
        type: string
        data: { incidents: { id: string }[]; text: string }
      }
      const id = String(request.headers['webhook-id'])
      received.push({ id, type, incidents: data.incidents.map((one) => one.id), text: data.text })
      // It has the message, and the sender does not know.
      if (dice < 0.2) return request.socket.destroy()
      if (dice < 0.25) return systemClock.after(200, () => response.end())
      return response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    refused: () => refused,
    heal() {
      isHealed = true
    },
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/**
 * Kills one daemon after the other while its endpoints fail and recover, a few in each life, and lets the last one finish. Each
 * endpoint fails once, for some lives. Also returns the ids of all incidents, as the last daemon lists them.
 */
export async function killDaemonWhileNotifying(options: {
  readonly kills: number
  readonly failuresPerLife: number
  readonly directory: string
  readonly random: () => number
}): Promise<Outcome & { readonly incidents: readonly string[] }> {
  const { kills, failuresPerLife, directory, random } = options
  const count = kills * failuresPerLife
  const receiver = await startReceiver(random)
  const failing = new Set<number>()
  const startedAt = Date.now()
  const nodes = createServer((request, response) => {
    const nth = Number(request.url?.slice(1))
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (failing.has(nth)) return response.writeHead(500).end()
      const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number }
      const height = 1000 + Math.floor((Date.now() - startedAt) / BLOCK_MS)
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: blockAt(height, startedAt + (height - 1000) * BLOCK_MS) }))
    })
  })
  await new Promise<void>((resolve) => nodes.listen(0, '0.0.0.0', resolve))
  const { port } = nodes.address() as AddressInfo
  const endpoints = Array.from({ length: count }, (_, nth) => ({
    name: `e${nth}`,
    url: `http://127.0.${Math.floor(nth / 250)}.${1 + (nth % 250)}:${port}/${nth}`,
    checks: ['head'],
  }))
  const thresholds = { fail_after: 1, recover_after: 1 }
  const config = {
    poll: { interval: '2s', timeout: '2s' },
    networks: [{ name: 'net', family: 'ethereum', block_time: `${BLOCK_MS}ms`, thresholds, endpoints }],
    notify: { group_wait: '500ms', rate: 10_000, channels: [{ name: 'hook', type: 'webhook', url: receiver.url }] },
  }
  const start = () => startDaemon(config, { folder: directory, early: true })
  for (let life = 0; life < kills; life++) {
    const daemon = await start()
    for (let nth = 0; nth < failuresPerLife; nth++) {
      failing.add(life * failuresPerLife + nth)
      failing.delete((life - FAILS_FOR_LIVES) * failuresPerLife + nth)
    }
    await systemClock.sleep(200 + random() * 2000)
    await daemon.stop('SIGKILL')
  }
  receiver.heal()
  const last = await start()
  // Those of the latest lives are found before they are healed.
  await systemClock.sleep(10_000)
  failing.clear()
  const listed = await settledIncidents(last)
  await last.stop()
  receiver.stop()
  nodes.closeAllConnections()
  nodes.close()
  return { received: receiver.received, refused: receiver.refused(), killed: kills, incidents: listed }
}

const BLOCK_MS = 1000
const FAILS_FOR_LIVES = 5

/** The ids of all incidents, once all are closed and everything is sent. */
async function settledIncidents(daemon: RunningDaemon): Promise<readonly string[]> {
  const ids: string[] = []
  const isSettled = async () => {
    ids.length = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await daemon.get(`/api/v1/incidents?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`)
      const { incidents, next_cursor: next } = JSON.parse(page.text) as IncidentPage
      const isDone = ({ closed_at: closedAt, notifications }: IncidentPage['incidents'][number]) =>
        closedAt !== null && notifications.length > 0 && notifications.every(({ result }) => result === 'sent')
      if (!incidents.every(isDone)) return false
      ids.push(...incidents.map(({ id }) => id))
      cursor = next
    }
    return ids.length > 0
  }
  await until(isSettled, 'all incidents are closed, and their messages sent', 120_000)
  return ids
}

interface IncidentPage {
  readonly incidents: readonly {
    readonly id: string
    readonly closed_at: string | null
    readonly notifications: readonly { readonly result: string | null }[]
  }[]
  readonly next_cursor: string | null
}

function blockAt(height: number, timestamp: number) {
  const hash = (of: number) => `0x${of.toString(16).padStart(64, '0')}`
  const seconds = `0x${Math.floor(timestamp / 1000).toString(16)}`
  return { number: `0x${height.toString(16)}`, hash: hash(height), parentHash: hash(height - 1), timestamp: seconds }
}

/** The incidents of `killWhileNotifying`. */
export const incidentIds = (count: number) => Array.from({ length: count }, (_, nth) => `i-${nth}`)

/** What a receiver that drops doubles by their id may complain about. */
export function complaintsAbout(received: readonly Reception[], incidents: readonly string[]): string[] {
  const complaints: string[] = []
  for (const id of incidents) {
    const about = received.filter((one) => one.incidents.includes(id))
    const firsts = about.filter((one, at) => about.findIndex((other) => other.id === one.id) === at)
    const heard = firsts.map(({ type }) => type).join(', ')
    const saysBoth = firsts.length === 1 && / was down for .*, and has recovered/.test(firsts[0]?.text ?? '')
    if (heard !== 'incident.opened, incident.closed' && !(heard === 'incident.closed' && saysBoth)) {
      complaints.push(`${id}: ${heard === '' ? 'nothing was heard' : heard}`)
    }
  }
  return complaints
}
