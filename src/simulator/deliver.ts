import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Timer } from '../clock.ts'
import type { Answer } from './answer.ts'
import type { FaultSet } from './fault-set.ts'
import { hostileAnswer, hugeBody } from './hostile.ts'

interface Delivery {
  readonly clock: Clock
  readonly faults: FaultSet
  /** Response time without faults. */
  readonly latencyMs: number
  readonly multiversx: boolean
  /** Time of the Date header. */
  readonly nodeNow: number
  readonly now: number
}

/** Sends an answer with the node's faults applied. */
export function deliver(message: IncomingMessage, response: ServerResponse, answer: Answer, delivery: Delivery): void {
  const { clock, faults, latencyMs } = delivery
  const flap = faults.get('flap')
  const flapDown = flap && (delivery.now - flap.since) % (flap.fault.upMs + flap.fault.downMs) >= flap.fault.upMs
  if (faults.has('reset') || flapDown) {
    message.socket.resetAndDestroy()
    return
  }
  if (faults.has('hang')) return
  const delayMs = latencyMs + (faults.get('slow')?.fault.delayMs ?? 0)
  if (delayMs === 0) return send(response, answer, delivery)
  const timer = clock.after(delayMs, () => send(response, answer, delivery))
  response.once('close', () => timer.cancel())
}

function send(response: ServerResponse, answer: Answer, { clock, faults, multiversx, nodeNow }: Delivery): void {
  const { status, headers, body } = hostileAnswer(answer, faults, multiversx)
  const { socket } = response
  if (faults.has('not-http')) {
    socket?.end('SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u7\r\n')
    return
  }
  response.sendDate = false
  response.statusCode = status
  response.setHeader('date', new Date(nodeNow).toUTCString())
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)

  const huge = faults.get('huge')
  const drip = faults.get('drip')
  const endless = faults.get('endless')
  if (huge)
    return void hugeBody(huge.fault.bytes)
      .on('error', () => {})
      .pipe(response)
  if (faults.has('truncated')) {
    response.setHeader('content-length', body.length + 1)
    response.write(body.subarray(0, Math.ceil(body.length / 2)), () => socket?.destroy())
    return
  }
  if (drip) {
    response.setHeader('content-length', body.length)
    response.flushHeaders()
    return trickle(response, clock, drip.fault.everyMs, (turn) => {
      const from = turn * drip.fault.bytes
      return from < body.length ? body.subarray(from, from + drip.fault.bytes) : null
    })
  }
  if (endless) {
    response.write(body)
    return trickle(response, clock, endless.fault.everyMs, () => Buffer.from(' '))
  }
  if (status !== 204) response.setHeader('content-length', body.length)
  response.end(body)
}

function trickle(
  response: ServerResponse,
  clock: Clock,
  everyMs: number,
  chunk: (turn: number) => Buffer | null,
): void {
  let turn = 0
  let timer: Timer | null = null
  const next = () => {
    const bytes = chunk(turn++)
    if (bytes === null) {
      response.end()
      return
    }
    response.write(bytes)
    timer = clock.after(everyMs, next)
  }
  response.once('close', () => timer?.cancel())
  next()
}
