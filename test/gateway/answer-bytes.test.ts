import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createCache } from '../../src/gateway/cache/cache.ts'
import { createCoalescer } from '../../src/gateway/cache/coalesce.ts'
import { setting, startBareNode } from './nodes.ts'
import { call, ID, post, set } from './setting.ts'

/** Blocks of all lengths around those at which memory is treated in another way; what is in one is in no other. */
function blockAt(height: number) {
  const length = 1500 + ((height * 397) % 24_000)
  return {
    number: hex(height),
    extraData: hex(height)
      .padStart(8, '·')
      .repeat(length / 8),
  }
}

const hex = (height: number) => `0x${height.toString(16)}`
const asking = (height: number, id: number) => call('eth_getBlockByNumber', [hex(height), false], id)
const answerTo = (height: number, id: number) => ({ jsonrpc: '2.0', id, result: blockAt(height) })

/** The gateway with its cache, its sharing of requests and a node: all that hands the same bytes on. */
async function gateway() {
  const node = await startBareNode(({ text }) => blockAt(Number(/"(0x[0-9a-f]+)"/.exec(text)?.[1])))
  const { world, forwarder, tips } = await setting({ a: node })
  const coalescer = createCoalescer({ next: forwarder, clock: systemClock, callerHeights: tips })
  const cache = createCache({ next: coalescer, board: world.board, clock: systemClock, callerHeights: tips })
  onTestFinished(() => cache.stop())
  // A dozen of the blocks: they come and go.
  cache.configure({ maxBytes: 256 * 1024, finalDepths: new Map([['ethereum', 20]]) })
  const { url, port } = await set({ answer: (question) => cache.handle(question), rules: { timeoutMs: 60_000 } })
  return { url: `${url}/ethereum/${ID}`, port }
}

test('every caller gets the block it asked for, with hundreds of others on their way at once', async () => {
  const { url } = await gateway()
  let id = 0

  const ask = async (at: number) => {
    // Neighbouring callers request the same at the same time; some blocks are requested repeatedly.
    const height = at % 5 === 0 ? 100 : 100 + Math.floor(at / 3)
    id++
    const mine = id
    if (at % 7 !== 0) return expect((await post(url, asking(height, mine))).json).toEqual(answerTo(height, mine))
    const { json } = await post(url, [asking(height, mine), asking(height + 1, 0)])
    expect(json).toEqual([answerTo(height, mine), answerTo(height + 1, 0)])
  }
  for (let round = 0; round < 6; round++) await Promise.all(Array.from({ length: 60 }, (_, at) => ask(round * 60 + at)))
}, 120_000)

test('a caller that reads late gets what it asked for, whatever others were answered in the meantime', async () => {
  const { url, port } = await gateway()
  const count = 800
  const requests = Array.from({ length: count }, (_, at) => JSON.stringify(asking(100 + at, at)))
  const late = connect(port, '127.0.0.1').pause()
  onTestFinished(() => void late.destroy())
  for (const body of requests) {
    const head = `POST /ethereum/${ID} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`
    late.write(`${head}\r\n${body}`)
  }

  for (let round = 0; round < 20; round++) {
    const heights = Array.from({ length: 20 }, (_, at) => 100 + at * 40 + round)
    await Promise.all(
      heights.map(async (height) => expect((await post(url, asking(height, 1))).json).toEqual(answerTo(height, 1))),
    )
  }
  const text = await textOf(late, count)

  expect(text).toEqual(Array.from({ length: count }, (_, at) => answerTo(100 + at, at)))
}, 120_000)

/** The bodies of so many answers. */
function textOf(socket: ReturnType<typeof connect>, count: number): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const bodies: unknown[] = []
    socket.on('close', () => reject(new Error(`closed after ${bodies.length} answers`)))
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (;;) {
        const headEnd = bytes.indexOf('\r\n\r\n')
        if (headEnd === -1) return
        const length = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1])
        const end = headEnd + 4 + length
        if (bytes.length < end) return
        bodies.push(JSON.parse(bytes.toString('utf8', headEnd + 4, end)))
        bytes = bytes.subarray(end)
        if (bodies.length === count) return resolve(bodies)
      }
    })
    socket.resume()
  })
}
