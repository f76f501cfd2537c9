import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { onMessages } from './raw-http.ts'
import { quantile } from './support.ts'

/** Requests, their target, and their rate. */
export interface LoadOrder {
  readonly port: number
  readonly path: string
  /** `cached` asks for the same block again and again, the others each time for another one. */
  readonly kind: 'block' | 'transaction' | 'cached'
  readonly connections: number
  readonly forMs: number
  /** At this rate, whatever comes back; `null`: as fast as answers come. */
  readonly perSecond: number | null
  /** Measures also how much processor time the main thread of this process takes from a request to its answer. */
  readonly pid?: number
}

export interface LoadReport {
  readonly answered: number
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Processor time; it does not depend on what else the machine does. 0 without `pid`. */
  readonly p50CpuMs: number
  readonly p99CpuMs: number
}

let serial = 0

/** Latencies count from when a request was due, not from when a free connection was found: nothing is left out. */
async function run(order: LoadOrder): Promise<LoadReport> {
  const { connections, forMs, perSecond } = order
  const latencies: number[] = []
  const cpuTimes: number[] = []
  const waiting: number[] = []
  const idle: Lane[] = []
  let failed = 0
  let over = false
  const lanes = await Promise.all(Array.from({ length: connections }, () => open()))
  const startedAt = performance.now()

  interface Lane {
    readonly socket: Socket
    dueAt: number
    cpuMs: number
  }

  function open(): Promise<Lane> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true })
      const lane: Lane = { socket, dueAt: 0, cpuMs: 0 }
      socket.once('connect', () => resolve(lane))
      socket.once('error', reject)
      onMessages(socket, (bytes, bodyStart) => {
        if (bytes[9] !== 0x32 || !bytes.includes('"result"', bodyStart)) {
          if (failed++ === 0) console.error(bytes.toString('latin1', 0, 600))
        }
        latencies.push(performance.now() - lane.dueAt)
        cpuTimes.push(cpuMsOf(order.pid) - lane.cpuMs)
        const due = perSecond === null ? performance.now() : waiting.shift()
        if (due !== undefined && !over) send(lane, due)
        else idle.push(lane)
      })
    })
  }

  function send(lane: Lane, dueAt: number): void {
    lane.dueAt = dueAt
    lane.cpuMs = cpuMsOf(order.pid)
    lane.socket.write(requestOf(order))
  }

  if (perSecond === null) for (const lane of lanes) send(lane, performance.now())
  else idle.push(...lanes)
  let made = 0
  while (performance.now() - startedAt < forMs) {
    if (perSecond !== null) {
      const due = ((performance.now() - startedAt) / 1000) * perSecond
      for (; made < due; made++) {
        const dueAt = startedAt + (made / perSecond) * 1000
        const lane = idle.shift()
        if (lane === undefined) waiting.push(dueAt)
        else send(lane, dueAt)
      }
    }
    // A timer would be a millisecond late, and all that is due in it come at once: too late only for a high rate.
    const isFast = perSecond !== null && perSecond > 1000
    await new Promise((resolve) => (isFast ? setImmediate(resolve) : setTimeout(resolve, perSecond === null ? 5 : 1)))
  }
  over = true
  const seconds = (performance.now() - startedAt) / 1000
  const answered = latencies.length
  for (const { socket } of lanes) socket.destroy()
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => quantile(latencies, share)) as [number, number, number]
  const [p50CpuMs, p99CpuMs] = [0.5, 0.99].map((share) => quantile(cpuTimes, share)) as [number, number]
  return { answered, failed, seconds, p50Ms, p99Ms, maxMs, p50CpuMs, p99CpuMs }
}

function cpuMsOf(pid: number | undefined): number {
  if (pid === undefined) return 0
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
}

function requestOf({ kind, path }: LoadOrder): string {
  serial++
  const body =
    kind === 'transaction'
      ? `{"jsonrpc":"2.0","id":${serial},"method":"eth_getTransactionByHash","params":["0x${serial.toString(16).padStart(64, '0')}"]}`
      : `{"jsonrpc":"2.0","id":${serial},"method":"eth_getBlockByNumber","params":["0x${(kind === 'cached' ? 0x1000000 : 0x1000000 + (serial % 0xf00000)).toString(16)}",false]}`
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

process.on('message', (order: LoadOrder) => void run(order).then((report) => process.send?.(report)))
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
