import type { Clock, Timer } from '../clock.ts'
import { createAddress } from '../nodes/address.ts'
import { createNodeForwarder } from '../nodes/forward.ts'
import type { TransportRequest } from '../nodes/transport.ts'
import { Secret } from '../secret.ts'

/** Somebody who asks a little all the time, so that the gateway has something to show. */
export interface DemoTraffic {
  stop(): Promise<void>
}

export interface DemoTrafficDeps {
  /** Of the gateway. */
  readonly url: string
  readonly endpointId: string
  readonly clock: Clock
}

const EVERY_MS = 300
const LONGEST_MS = 15_000

/** What a wallet, a supervisor and an explorer ask: the newest block, an old one again and again, a node's health, a shard's state. */
const ASKED: readonly (readonly [network: string, path: string, method: string | null, params?: readonly unknown[]])[] =
  [
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

export function startDemoTraffic({ url, endpointId, clock }: DemoTrafficDeps): DemoTraffic {
  const gateway = createAddress({ url: new Secret(url), headers: {}, tls: { ca: null, insecure: false } })
  const forwarder = createNodeForwarder({ clock, maxConnections: 1 })
  const stopping = new AbortController()
  let nth = 0
  let asking: Promise<unknown> = Promise.resolve()
  let timer: Timer = clock.after(EVERY_MS, next)

  function next(): void {
    asking = ask(nth++).finally(() => {
      if (!stopping.signal.aborted) timer = clock.after(EVERY_MS, next)
    })
  }

  /** What comes of it is the gateway's to tell. */
  function ask(turn: number): Promise<unknown> {
    const [network, path, method, params = []] = ASKED[turn % ASKED.length] as (typeof ASKED)[number]
    const request: TransportRequest = {
      method: method === null ? 'GET' : 'POST',
      path: `/${network}/${endpointId}${path}`,
      body: method === null ? null : JSON.stringify({ jsonrpc: '2.0', id: turn, method, params }),
    }
    return forwarder.forward(gateway, request, LONGEST_MS, stopping.signal)
  }

  return {
    async stop() {
      stopping.abort()
      timer.cancel()
      await asking
      await forwarder.close()
    },
  }
}
