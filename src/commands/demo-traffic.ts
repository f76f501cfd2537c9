import type { Clock, Timer } from '../clock.ts'
import { createAddress } from '../nodes/address.ts'
import { createNodeForwarder } from '../nodes/forward.ts'
import type { TransportRequest } from '../nodes/transport.ts'
import { Secret } from '../secret.ts'

const EVERY_MS = 300
const LONGEST_MS = 15_000

/** Typical requests of a wallet, a process supervisor and a block explorer. */
const REQUESTS: readonly (readonly [
  network: string,
  path: string,
  method: string | null,
  params?: readonly unknown[],
])[] = [
  ['ethereum', '', 'eth_blockNumber'],
  ['multiversx', '/network/status/1', null],
  ['avalanche', '', 'eth_getBlockByNumber', ['latest', false]],
  ['ethereum', '', 'eth_getBlockByNumber', ['latest', false]],
  ['multiversx', '/block/0/by-nonce/1', null],
  ['avalanche', '/ext/health', 'health.health'],
  ['ethereum', '', 'eth_getBlockByNumber', ['0x1', false]],
  ['avalanche', '', 'eth_blockNumber'],
  ['multiversx', '/network/status/4294967295', null],
]

interface DemoTrafficDeps {
  readonly url: string
  readonly endpointId: string
  readonly clock: Clock
}

/** Sends a few requests every second, so that the demo's gateway has traffic to show. */
export function startDemoTraffic({ url, endpointId, clock }: DemoTrafficDeps) {
  const gateway = createAddress({ url: new Secret(url), headers: {}, tls: { ca: null, insecure: false } })
  const forwarder = createNodeForwarder({ clock, maxConnections: 1 })
  const stopping = new AbortController()
  let nth = 0
  let inFlight: Promise<unknown> = Promise.resolve()
  let timer: Timer = clock.after(EVERY_MS, next)

  function next(): void {
    inFlight = send(nth++).finally(() => {
      if (!stopping.signal.aborted) timer = clock.after(EVERY_MS, next)
    })
  }

  /** The result is ignored, because the gateway's own metrics count it. */
  function send(turn: number): Promise<unknown> {
    const [network, path, method, params = []] = REQUESTS[turn % REQUESTS.length] as (typeof REQUESTS)[number]
    const request: TransportRequest = {
      method: method === null ? 'GET' : 'POST',
      path: `/${network}/${endpointId}${path}`,
      body: method === null ? null : JSON.stringify({ jsonrpc: '2.0', id: turn, method, params }),
    }
    return forwarder.forward(gateway, request, LONGEST_MS, stopping.signal)
  }

  return {
    async stop(): Promise<void> {
      stopping.abort()
      timer.cancel()
      await inFlight
      forwarder.close()
    },
  }
}
