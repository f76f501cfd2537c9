import { expect, test } from 'vitest'
import { serveHttp } from '../support/http-server.ts'
import { brief, GOOD, get, openHostile, post } from './hostile-setting.ts'
import { caller, ID } from './setting.ts'

const HOG_ID = 'hog-0123456789abcdef'
const HOG = `/ethereum/${HOG_ID}`
const WALLET = `/ethereum/${ID}`

/** Answers all but eth_newFilter, which hangs. */
async function startHangingNode(): Promise<{ url: string; hanging: () => number }> {
  let hanging = 0
  const { url } = await serveHttp((_request, response, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    if (method === 'eth_newFilter') hanging++
    else response.end(`{"jsonrpc":"2.0","id":${id},"result":"0x1"}`)
  })
  return { url, hanging: () => hanging }
}

const CALLERS = [caller('wallet', ID), caller('hog', HOG_ID, { methods: ['eth_newFilter'] })]

test('a caller with hundreds of hanging calls leaves connections and calls to the others', async () => {
  const node = await startHangingNode()
  const { open, send } = await openHostile({
    callers: CALLERS,
    nodes: { ethereum: { family: 'ethereum', url: node.url } },
  })
  const filter = '{"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{}]}'
  const hog = open()
  const pipelined = `POST ${HOG} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${filter.length}\r\n\r\n${filter}`
  hog.write(pipelined.repeat(2500))
  await expect.poll(node.hanging, { timeout: 20_000 }).toBe(64)

  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(post(WALLET, GOOD))))

  expect(answers.flat().map(brief)).toEqual(Array.from({ length: 20 }, () => '200 result 1'))
  expect(performance.now() - startedAt).toBeLessThan(2000)
  expect(node.hanging()).toBe(64)
  hog.socket.destroy()
})

test('a call that waits for a connection of a caller with hundreds of them does not keep the same call of others', async () => {
  const node = await startHangingNode()
  const { open, send, service } = await openHostile({
    callers: CALLERS,
    nodes: { ethereum: { family: 'ethereum', url: node.url } },
  })
  const filter = '{"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{}]}'
  const hog = [open(), open()]
  const pipelined = `POST ${HOG} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${filter.length}\r\n\r\n${filter}`
  hog[0]?.write(pipelined.repeat(64))
  await expect.poll(node.hanging, { timeout: 20_000 }).toBe(64)
  hog[1]?.write(post(HOG, GOOD))
  await expect.poll(() => service.report().requestsInFlight).toBe(65)

  const answers = await send(post(WALLET, GOOD))

  expect(answers.map(brief)).toEqual(['200 result 1'])
  expect(hog[1]?.answers()).toEqual([])
  for (const { socket } of hog) socket.destroy()
})

test('bodies that one caller sends and never ends cost the others nothing', async () => {
  const { open, send } = await openHostile({ callers: CALLERS, bodyLimitBytes: 2 ** 20 })
  const head = `POST ${HOG} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1048576\r\n\r\n`
  const hogs = Array.from({ length: 70 }, () => open())
  for (const { write } of hogs) write(head + ' '.repeat(1_048_000))
  // Of the hog's bodies only its share is kept: the others are rejected.
  await expect
    .poll(() => hogs.filter(({ answers }) => answers().some((answer) => brief(answer) === '503 -32603 null')).length, {
      timeout: 20_000,
    })
    .toBeGreaterThanOrEqual(62)

  const answers = await Promise.all(Array.from({ length: 20 }, () => send(post(WALLET, GOOD))))

  expect(answers.flat().map(brief)).toEqual(Array.from({ length: 20 }, () => '200 result 1'))
  for (const { socket } of hogs) socket.destroy()
})

test('bodies behind a wrong endpoint_id are read for their ids only as far as a small total', async () => {
  const { open, send } = await openHostile()
  const head = `POST /ethereum/wrong-0123456789abcdef HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 16384\r\n\r\n`
  const strangers = Array.from({ length: 200 }, () => open())
  for (const { write } of strangers) write(head + ' '.repeat(16_000))
  await expect
    .poll(() => strangers.filter(({ answers }) => answers().length > 0).length, { timeout: 20_000 })
    .toBeGreaterThanOrEqual(136)
  // The others wait until their time is over.
  const atOnce = strangers.filter(({ answers }) => answers()[0]?.status === 401)
  expect(atOnce).toHaveLength(200 - Math.floor(2 ** 20 / 16_000))

  const [good] = await send(post(WALLET, GOOD))
  const [stranger] = await send(post('/ethereum/wrong-0123456789abcdef', GOOD))

  expect(brief(good!)).toBe('200 result 1')
  expect(brief(stranger!)).toMatch(/^401 -32099 (1|null)$/)
  expect((await send(get(`/multiversx/${ID}/network/config`))).map(({ status }) => status)).toEqual([200])
  for (const { socket } of strangers) socket.destroy()
})

test('a body in tiny chunks is rejected after some hundreds of them, one in small chunks is served', async () => {
  const { open, send, asked, expectUnharmed } = await openHostile({ callers: CALLERS, bodyLimitBytes: 2 ** 20 })
  const head = (id: string) =>
    `POST ${id} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  const chunked = (body: string) => Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')

  const hog = open()
  hog.write(head(HOG) + chunked(' '.repeat(5000)))
  expect((await hog.closed()).map(brief)).toEqual(['413 -32600 null'])
  expect(asked).toEqual([])

  // A call has fewer bytes than that.
  const closing = head(WALLET).replace('host: x', 'host: x\r\nconnection: close')
  expect((await send(`${closing}${chunked(GOOD)}0\r\n\r\n`)).map(brief)).toEqual(['200 result 1'])
  asked.splice(0)
  await expectUnharmed()
})
