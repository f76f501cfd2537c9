import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Shard } from '../core/network.ts'
import type { Family, Request } from './answer.ts'
import { type AvalancheOptions, createAvalanche } from './avalanche.ts'
import type { SimulatedChain } from './chain.ts'
import { answerControl, CONTROL_PATH, isLocalRequest, problem } from './control.ts'
import { deliver } from './deliver.ts'
import { createEthereum, type EthereumOptions } from './ethereum.ts'
import type { Fault, FaultKind } from './fault.ts'
import { type ActiveFault, createFaultSet, type Timeline } from './fault-set.ts'
import { createMultiversx, type MultiversxOptions } from './multiversx.ts'
import { createView } from './view.ts'

/** A simulated node on a loopback address, with its own view of a chain and injectable faults. */
export interface SimulatedNode {
  readonly name: string
  /** Without trailing `/`. */
  readonly url: string
  readonly controlUrl: string
  readonly port: number
  height(shard?: Shard): number
  /** Replaces a fault of the same kind. `halt` stops the chain for all of its nodes. */
  inject(fault: Fault, forMs?: number): void
  /** Ends the faults of one kind, or all. */
  heal(kind?: FaultKind): void
  faults(): readonly ActiveFault[]
  /** Resolves when the port is closed and no timers are left. */
  stop(): Promise<void>
}

export interface NodeOptions {
  readonly clock: Clock
  readonly chain: SimulatedChain
  readonly kind: EthereumOptions | Omit<AvalancheOptions, 'nodeName'> | Omit<MultiversxOptions, 'roundMs'>
  readonly name?: string
  /** A loopback address; a poller treats each address as a separate host. */
  readonly host?: string
  /** 0 means any free port. */
  readonly port?: number
  /** Propagation delay of a block to this node. */
  readonly delayMs?: number
  readonly latencyMs?: number
  readonly timeline?: Timeline
  /** Called for every request except those to the control interface. */
  readonly onRequest?: (request: Request) => void
}

const DEFAULT_HOST = '127.0.0.1'
/** Real nodes accept at most 5 MiB. */
const BODY_LIMIT = 6 * 2 ** 20
const REOPEN_AFTER_MS = 500

export async function startSimulatedNode(options: NodeOptions): Promise<SimulatedNode> {
  const { clock, chain, kind, name = kind.family, host = DEFAULT_HOST, delayMs = 0, latencyMs = 0 } = options
  const { timeline, onRequest } = options
  const family = createFamily(kind, name, chain.blockTimeMs)
  const isProxy = kind.family === 'multiversx' && kind.kind !== 'observer'
  const shards = kind.family === 'multiversx' && !isProxy ? [kind.shard ?? 0] : chain.shards
  const faults = createFaultSet({ clock, chain, tip: (shard) => view().tip(shard), changed: () => void listenOrNot() })
  let turn = 0
  let server: Server | null = null
  let stopped = false
  let work: Promise<void> = Promise.resolve()

  function view() {
    return createView({ chain, faults, nodeName: name, delayMs, turn: turn++ })
  }

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(message)
    if (request === null) return
    if (request.path === CONTROL_PATH || request.path.startsWith(`${CONTROL_PATH}/`)) {
      const control = { name, family: kind.family, isProxy, chain, shards, faults, view }
      const { status, headers, body } = isLocalRequest(message)
        ? answerControl(request, control)
        : problem(403, 'Only for this machine')
      response.writeHead(status, headers).end(body)
      return
    }
    onRequest?.(request)
    const now = chain.now()
    const nodeNow = now + (faults.get('clock-skew')?.fault.byMs ?? 0)
    const answer = family(request, { view: view(), faults, now, nodeNow })
    const multiversx = kind.family === 'multiversx'
    deliver(message, response, answer, { clock, faults, latencyMs, multiversx, now, nodeNow })
  }

  async function open(port: number): Promise<Server> {
    const opened = createServer((message, response) => void handle(message, response))
    await new Promise<void>((resolve, reject) => {
      opened.once('error', reject)
      opened.listen(port, host, resolve)
    })
    return opened
  }

  async function openOrClose(): Promise<void> {
    const closed = stopped || faults.has('refuse')
    if (closed && server !== null) {
      const closing = server
      server = null
      await close(closing)
    } else if (!closed && server === null) {
      server = await open(port)
    }
  }

  /** Opens the port, or closes it while the `refuse` fault is active. */
  function listenOrNot(): Promise<void> {
    work = work.then(openOrClose).catch(() => {
      // Another process took the port while it was closed: retry until the port is free.
      clock.after(REOPEN_AFTER_MS, () => void listenOrNot())
    })
    return work
  }

  server = await open(options.port ?? 0)
  const { port } = server.address() as AddressInfo
  if (timeline) faults.follow(timeline)

  const url = `http://${host}:${port}`
  return {
    name,
    url,
    controlUrl: `${url}${CONTROL_PATH}`,
    port,
    height: (shard = shards[0] ?? null) => view().tip(shard),
    inject: (fault, forMs) => faults.inject(fault, forMs),
    heal: (ofKind) => faults.heal(ofKind),
    faults: () => faults.list(),
    stop() {
      stopped = true
      faults.stop()
      return listenOrNot()
    },
  }
}

function createFamily(kind: NodeOptions['kind'], nodeName: string, roundMs: number): Family {
  switch (kind.family) {
    case 'ethereum':
      return createEthereum(kind)
    case 'avalanche':
      return createAvalanche({ ...kind, nodeName })
    case 'multiversx':
      return createMultiversx({ ...kind, roundMs })
  }
}

/** `null` if the client disconnected before its request was complete. */
async function receive(message: IncomingMessage): Promise<Request | null> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size <= BODY_LIMIT) chunks.push(chunk)
    }
  } catch {
    return null
  }
  const [path = '/', query = ''] = (message.url ?? '/').split(/\?(.*)/s)
  return {
    method: message.method ?? 'GET',
    path,
    query: new URLSearchParams(query),
    headers: message.headers,
    body: Buffer.concat(chunks).toString(),
  }
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
