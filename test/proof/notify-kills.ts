import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import { bundled } from '../support/bundled.ts'

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
  const received: Reception[] = []
  let refused = 0
  let faults = true
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const dice = faults ? random() : 1
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
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
  faults = false
  const last = await start()
  const [status] = (await once(last, 'exit')) as [number | null]
  server.closeAllConnections()
  server.close()
  if (status !== 0) throw new Error(`the last child ended with ${status}`)
  return { received, refused, killed }
}

/** What a receiver that drops doubles by their id may complain about. */
export function complaintsAbout(received: readonly Reception[], incidents: number): string[] {
  const complaints: string[] = []
  for (let nth = 0; nth < incidents; nth++) {
    const id = `i-${nth}`
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
