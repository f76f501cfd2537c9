import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Clock, repeat } from '../src/clock.ts'
import type { Family } from '../src/core/network.ts'
import { digest } from '../src/simulator/chain.ts'
import { createEvmBlocks } from '../src/simulator/evm-block.ts'
import { envelope } from '../src/simulator/multiversx.ts'

/**
 * Thousands of endpoints at little cost: answers are built once. For benchmarks, in which the nodes' time must not count;
 * `fleet-process.ts` runs it outside the measured process.
 */
export interface Fleet {
  /** One URL per endpoint: `http://127.0.x.y:port/n/<i>`, without trailing slash. */
  readonly urls: readonly string[]
  /** Requests answered so far. */
  requests(): number
  /** One endpoint after the other closes its connections and answers no more, all of them after this time. */
  fail(overMs: number): void
  stop(): Promise<void>
}

export interface FleetOptions {
  readonly clock: Clock
  readonly family: Family
  readonly count: number
  /** Number of loopback addresses 127.0.0.1, .2, …, 127.0.1.1, …: separate hosts with their own connections. */
  readonly origins?: number
  readonly chainId?: number
  /** Time until all answers have a new head. */
  readonly blockTimeMs?: number
  /** After this long, the next tenth of the endpoints has the next fault of `FAULTS`; without it, all are healthy. */
  readonly faultMs?: number
  /** Instead of `faultMs`: the fault of an endpoint at this moment. */
  readonly faultOf?: (index: number) => Fault | null
  /** Of each request to an endpoint that has not failed: its path, which may go on behind the endpoint's, and its body if read. */
  readonly onRequest?: (index: number, path: string, body: string) => void
}

const FAULTS = ['closes', 'hangs', 'fails', 'garbage', 'lags', 'limits', 'slow', 'closes late'] as const
export type Fault = (typeof FAULTS)[number]
const LAG_BLOCKS = 50
const SLOW_MS = 300

/** The part of a JSON-RPC answer after the id. */
interface Bodies {
  readonly liveness: Buffer
  readonly block: Buffer
  readonly chainId: Buffer
  /** To the three questions of a liveness check of an EVM node. */
  readonly syncing: Buffer
  readonly peers: Buffer
  readonly client: Buffer
  readonly status: Buffer
}

const INDEX_IN_URL = /\/n\/(\d+)/
/** Between two looks at which endpoints fail now. */
const FAIL_EVERY_MS = 10
const ID_IN_REQUEST = /"id":(\d+)/
const METHOD_IN_REQUEST = /"method":"(\w+)"/
const METHODS: Readonly<Record<string, keyof Bodies>> = {
  eth_chainId: 'chainId',
  eth_syncing: 'syncing',
  net_peerCount: 'peers',
  web3_clientVersion: 'client',
}
const TYPE = { 'content-type': 'application/json' }

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { clock, family, count, origins = 1, chainId = 1, blockTimeMs = 2000, faultMs, onRequest } = options
  const faultOf = options.faultOf ?? fromPeriod
  const startedAt = clock.monotonic()
  const wallAtStart = clock.now()
  let bodies = createBodies(family, chainId, 1, wallAtStart)
  let laggingBodies = bodies
  let made = 0
  let requests = 0
  let failed = 0
  const socketOf = new Map<number, Socket>()

  const answer: RequestListener = (message, response) => {
    requests++
    const turn = Math.floor((clock.monotonic() - startedAt) / blockTimeMs)
    if (turn !== made) {
      made = turn
      bodies = createBodies(family, chainId, 1 + turn, wallAtStart + turn * blockTimeMs)
      const behind = Math.max(0, turn - LAG_BLOCKS)
      laggingBodies = createBodies(family, chainId, 1 + behind, wallAtStart + behind * blockTimeMs)
    }
    const url = message.url ?? ''
    const index = Number(INDEX_IN_URL.exec(url)?.[1])
    if (index < failed) return void message.socket.destroy()
    socketOf.set(index, message.socket)
    const fault = faultOf(index)
    const answers = fault === 'lags' ? laggingBodies : bodies
    const { liveness, block, status } = answers
    if (fault === 'closes') {
      onRequest?.(index, url, '')
      return void message.socket.destroy()
    }
    if (message.method === 'GET') {
      onRequest?.(index, url, '')
      message.resume()
      return send(url.includes('/network/status') ? status : block)
    }
    let asked = ''
    message.setEncoding('latin1').on('data', (text: string) => {
      asked += text
    })
    message.on('end', () => {
      onRequest?.(index, url, asked)
      const start = `{"jsonrpc":"2.0","id":${ID_IN_REQUEST.exec(asked)?.[1] ?? null}`
      if (url.endsWith('/ext/health')) return send(liveness, start)
      send(answers[METHODS[METHOD_IN_REQUEST.exec(asked)?.[1] ?? ''] ?? 'block'], start)
    })

    function send(body: Buffer, start = ''): void {
      if (fault === 'hangs') return
      if (fault === 'slow') return void clock.after(SLOW_MS, () => write(body, start))
      if (fault === 'garbage') return write(Buffer.from('<html>'), '')
      write(body, start)
      if (fault === 'closes late') response.once('finish', () => message.socket.destroy())
    }

    function write(body: Buffer, start: string): void {
      response.cork()
      response.writeHead(fault === 'fails' ? 500 : fault === 'limits' ? 429 : 200, {
        ...TYPE,
        'content-length': start.length + body.length,
      })
      if (start !== '') response.write(start, 'latin1')
      response.end(body)
      response.uncork()
    }
  }

  function fromPeriod(index: number): Fault | null {
    if (faultMs === undefined) return null
    const period = Math.floor((clock.monotonic() - startedAt) / faultMs)
    return index % 10 === period % 10 ? (FAULTS[period % FAULTS.length] ?? null) : null
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '0.0.0.0', 4096, resolve)
  })
  const { port } = server.address() as AddressInfo
  const addressOf = (index: number) => `127.0.${Math.floor((index % origins) / 250)}.${1 + ((index % origins) % 250)}`
  return {
    urls: Array.from({ length: count }, (_, index) => `http://${addressOf(index)}:${port}/n/${index}`),
    requests: () => requests,
    fail(overMs) {
      const begunAt = clock.monotonic()
      const timer = repeat(clock, FAIL_EVERY_MS, () => {
        const share = overMs === 0 ? 1 : Math.min(1, (clock.monotonic() - begunAt) / overMs)
        for (const until = Math.floor(share * count); failed < until; failed++) socketOf.get(failed)?.destroy()
        if (failed === count) timer.cancel()
      })
    },
    async stop() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function createBodies(family: Family, chainId: number, height: number, timestamp: number): Bodies {
  const block = {
    shard: null,
    height,
    hash: digest('fleet', height),
    parentHash: digest('fleet', height - 1),
    timestamp,
  }
  const evm = createEvmBlocks({ flavour: 'ethereum', chainId, transactionsPerBlock: 150 })
  const rpc = (result: unknown) => Buffer.from(`,"result":${JSON.stringify(result)}}`)
  const multiversxBlock = {
    nonce: height,
    hash: block.hash,
    prevBlockHash: block.parentHash,
    timestamp: Math.floor(timestamp / 1000),
    status: 'on-chain',
  }
  return {
    liveness: rpc(liveness(timestamp)),
    block:
      family === 'multiversx' ? Buffer.from(envelope({ block: multiversxBlock }).body) : rpc(evm.render(block, false)),
    chainId: rpc(`0x${chainId.toString(16)}`),
    syncing: rpc(false),
    peers: rpc('0x19'),
    client: rpc('Geth/v1.16.4-stable/linux-amd64/go1.25.1'),
    status: Buffer.from(envelope({ status: { erd_nonce: height, erd_highest_final_nonce: height - 1 } }).body),
  }
}

/** About 1 KB, the size of an old node's answer. */
function liveness(timestamp: number) {
  const check = (message: unknown) => ({
    message,
    timestamp: new Date(timestamp).toISOString(),
    duration: 28_400,
    contiguousFailures: 0,
    timeOfFirstFailure: null,
  })
  return {
    checks: {
      'chains.default.bootstrapped': check({}),
      'network.validators.heartbeat': check({ heartbeat: Math.floor(timestamp / 1000) }),
      database: check({}),
      diskspace: check({ availableDiskBytes: 1_316_134_912_000, availableDiskPercentage: 64 }),
      network: check({ connectedPeers: 1231, sendFailRate: 0.0007 }),
      router: check({ longestRunningRequest: '1.2s', outstandingRequests: 12 }),
    },
    healthy: true,
  }
}
