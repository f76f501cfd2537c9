import { type Family, text } from './answer.ts'
import { createEvm } from './evm.ts'
import { answerEvm } from './json-rpc.ts'

export interface EthereumOptions {
  readonly family: 'ethereum'
  readonly chainId?: number
  readonly transactionsPerBlock?: number
}

/** Simulates an Ethereum node with JSON-RPC at `/`. */
export function createEthereum({ chainId = 1, transactionsPerBlock = 150 }: EthereumOptions): Family {
  const clientVersion = 'Geth/v1.16.4-stable/linux-amd64/go1.25.1'
  const call = createEvm({ flavour: 'ethereum', chainId, transactionsPerBlock, clientVersion })

  return (request, situation) => {
    if (request.path !== '/') return text(404, '404 page not found')
    return answerEvm(request, (method, params) => call(method, params, situation), { emptyStatus: 204 })
  }
}
