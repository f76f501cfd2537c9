import { type Answer, type Family, json, type Situation, text } from './answer.ts'
import { createEvm } from './evm.ts'
import { answerEvm } from './json-rpc.ts'

export interface EthereumOptions {
  readonly family: 'ethereum'
  readonly chainId?: number | undefined
  readonly transactionsPerBlock?: number
  /** The answer to `web3_clientVersion`. */
  readonly clientVersion?: string
}

/** Simulates an Ethereum node with JSON-RPC at `/`, and the Beacon API of its consensus node on the same port. */
export function createEthereum({
  chainId = 1,
  transactionsPerBlock = 150,
  clientVersion = 'Geth/v1.16.4-stable/linux-amd64/go1.25.1',
}: EthereumOptions): Family {
  const call = createEvm({ flavour: 'ethereum', chainId, transactionsPerBlock, clientVersion })

  return (request, situation) => {
    if (request.path.startsWith(BEACON)) return answerBeacon(request.path.slice(BEACON.length), situation)
    if (request.path !== '/') return text(404, '404 page not found')
    return answerEvm(request, (method, params) => call(method, params, situation), { emptyStatus: 204 })
  }
}

const BEACON = '/eth/v1/node/'
const CONSENSUS_PEERS = 80
const GENESIS_MS = 1_606_824_023_000
const SLOT_MS = 12_000

function answerBeacon(what: string, { faults, now }: Situation): Answer {
  if (faults.has('consensus-down')) return { status: 503, headers: {}, body: '' }
  const slots = faults.get('consensus-syncing')?.fault.slots ?? 0
  switch (what) {
    case 'health':
      return { status: slots > 0 ? 206 : 200, headers: {}, body: '' }
    case 'syncing':
      return json(200, {
        data: {
          head_slot: String(Math.floor((now - GENESIS_MS) / SLOT_MS) - slots),
          sync_distance: String(slots),
          is_syncing: slots > 0,
          is_optimistic: false,
          el_offline: false,
        },
      })
    case 'peer_count':
      return json(200, {
        data: { disconnected: '12', connecting: '0', connected: String(CONSENSUS_PEERS), disconnecting: '0' },
      })
  }
  return json(404, { code: 404, message: 'NOT_FOUND' })
}
