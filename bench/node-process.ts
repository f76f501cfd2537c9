import { createServer } from 'node:net'
import { createEvmBlocks } from '../src/simulator/evm-block.ts'
import { onMessages } from './raw-http.ts'

/**
 * A node that answers with bytes made once: a block of 11.8 KB under any requested number, a pending transaction (which is
 * never cached) under whatever hash, in 363 bytes with its envelope, logs of 28 MiB, and a filter never. Forked by `forward.ts` and
 * `attack.ts`; tells its port.
 */
const HEAD = 0x2000000
const digits = (text: string) => Buffer.from(text, 'latin1')

const block = createEvmBlocks({ flavour: 'ethereum', chainId: 1, transactionsPerBlock: 150 }).render(
  { shard: null, height: HEAD, hash: 'ab'.repeat(32), parentHash: 'cd'.repeat(32), timestamp: Date.now() },
  false,
)
const waiting = {
  blockHash: null,
  blockNumber: null,
  transactionIndex: null,
  hash: `0x${'0'.repeat(64)}`,
  from: `0x${'1'.repeat(40)}`,
  to: `0x${'2'.repeat(40)}`,
  nonce: '0x7',
  gas: '0x5208',
  gasPrice: '0x77359400',
  input: '0x',
  value: '0x0de0b6b3a7640000',
  type: '0x0',
  v: '0x25',
}

/** `{…,"id":` and the id stand before it. */
const rest = (result: object) => digits(`,"result":${JSON.stringify(result)}}`)
const BLOCK = rest(block)
const NUMBER_AT = BLOCK.indexOf('"number":"0x') + 12
const TRANSACTION = rest(waiting)
const HASH_AT = TRANSACTION.indexOf('"hash":"0x') + 10
const LOGS = digits(`,"result":[${'"0xabcdef0123456789",'.repeat((28 * 2 ** 20) / 21)}0]}`)
const CHAIN_ID = digits(',"result":"0x1"}')

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {})
  onMessages(socket, (bytes, bodyStart) => {
    const text = bytes.toString('latin1', bodyStart)
    const id = /"id":(\d+)/.exec(text)?.[1] ?? '0'
    const asked = /"0x([0-9a-f]{7,})"/.exec(text)?.[1]
    if (text.includes('eth_newFilter')) return
    let body = CHAIN_ID
    if (text.includes('eth_getBlockByNumber')) {
      body = BLOCK
      if (asked !== undefined) body.write(asked, NUMBER_AT, 'latin1')
      else body.write(HEAD.toString(16), NUMBER_AT, 'latin1')
    } else if (text.includes('eth_getTransactionByHash')) {
      body = TRANSACTION
      body.write(asked ?? '', HASH_AT, 'latin1')
    }
    if (text.includes('eth_getLogs')) body = LOGS
    const start = `{"jsonrpc":"2.0","id":${id}`
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${start.length + body.length}\r\n\r\n${start}`
    if (body === LOGS) {
      socket.write(head)
      return void socket.write(LOGS)
    }
    // One write, and a copy: the bytes change with the next request.
    const answer = Buffer.allocUnsafe(head.length + body.length)
    answer.write(head, 'latin1')
    body.copy(answer, head.length)
    socket.write(answer)
  })
})
server.listen(0, '127.0.0.1', 1024, () => process.send?.({ port: (server.address() as { port: number }).port }))
process.on('disconnect', () => process.exit())
