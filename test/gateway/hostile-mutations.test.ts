import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Asked, brief, get, openHostile, post } from './hostile-setting.ts'
import { ADMIN_ID, ID } from './setting.ts'

const HASH = 'ab'.repeat(32)
const call = (method: string, params: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`

const VALID = [
  post(`/ethereum/${ID}`, call('eth_getBlockByNumber', '["latest",false]')),
  post(`/ethereum/${ID}`, call('eth_getTransactionByHash', `["0x${HASH}"]`)),
  post(`/ethereum/${ID}`, `[${call('eth_chainId', '[]')},${call('eth_blockNumber', '[]')}]`),
  post(`/avalanche/${ID}/ext/bc/C/rpc`, call('eth_getBlockByNumber', '["0x1f",true]')),
  post(`/avalanche/${ID}/ext/health`, call('health.health', '{"tags":["a"]}'), 'x-heartline-endpoint: n\r\n'),
  post(`/avalanche/${ADMIN_ID}/ext/admin`, call('admin.alias', '{"endpoint":"bc/C","alias":"mine"}')),
  get(`/multiversx/${ID}/block/1/by-hash/${HASH}?withTxs=true`),
  get(`/multiversx/${ID}/block/0/by-nonce/7`),
  get(`/multiversx/${ID}/network/status/1`),
  `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2c\r\n{"jsonrpc":"2.0","id":1,"method":"eth_chainI\r\n3\r\nd"}\r\n0\r\n\r\n`,
]

/** What has made parsers stumble. */
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  '"',
  '\\',
  '\\u0065',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '0',
  '-',
  'e9',
  '\x80',
  '\xff',
  '\xed\xa0\x80',
  '%2e',
  '%00',
  '/',
  '..',
  '//',
  ';',
  '?',
  '#',
  'content-length: 5\r\n',
  'transfer-encoding: chunked\r\n',
  'host: y\r\n',
  '"id":2,',
  '"method":"eth_call",',
  '0\r\n\r\n',
  '\r\n\r\n',
]

type Edit = (text: string) => string
const place = fc.double({ min: 0, max: 1, noNaN: true })
const at = (text: string, where: number) => Math.floor(where * text.length)
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(place, fc.constantFrom(...TOKENS)).map(
    ([where, token]): Edit =>
      (text) =>
        text.slice(0, at(text, where)) + token + text.slice(at(text, where)),
  ),
  fc.tuple(place, fc.integer({ min: 0, max: 255 })).map(
    ([where, byte]): Edit =>
      (text) =>
        text.slice(0, at(text, where)) + String.fromCharCode(byte) + text.slice(at(text, where) + 1),
  ),
  fc.tuple(place, fc.integer({ min: 1, max: 40 })).map(
    ([where, length]): Edit =>
      (text) =>
        text.slice(0, at(text, where)) + text.slice(at(text, where) + length),
  ),
  fc.tuple(place, place, fc.integer({ min: 1, max: 80 })).map(
    ([from, to, length]): Edit =>
      (text) =>
        text.slice(0, at(text, to)) + text.slice(at(text, from), at(text, from) + length) + text.slice(at(text, to)),
  ),
)
const mutant = fc
  .tuple(fc.constantFrom(...VALID), fc.array(edit, { minLength: 1, maxLength: 4 }))
  .map(([valid, edits]) => edits.reduce((text, apply) => apply(text), valid))

const PLAIN_PATH = /^[\w.-]+(?:\/[\w.-]+)*$/
/** Requests that a node may get: written independently, so that the test does not rely on the code. */
function isValid({ line, body, headers }: Asked): boolean {
  if (!/^127\.0\.0\.1:\d+$/.test(headers.host ?? '')) return false
  if (line.startsWith('GET ')) {
    return /^GET \/(?:block\/[01]\/by-hash\/[0-9a-f]{64}|block\/[01]\/by-nonce\/\d{1,16}|network\/status\/[01]|network\/config)(?:\?(?:(?:forHyperblock|withLogs|withTxs)=true&?)+)?$/.test(
      line,
    )
  }
  const { jsonrpc, id, method, params, ...others } = JSON.parse(body)
  if (jsonrpc !== '2.0' || !Number.isSafeInteger(id) || Object.keys(others).length > 0) return false
  if (line === 'POST /ext/admin') {
    const [{ endpoint, alias, ...more }] = Array.isArray(params) ? params : [params]
    const isPlain = [endpoint, alias].every((path) => PLAIN_PATH.test(path) && !path.split('/').includes('..'))
    return method === 'admin.alias' && isPlain && Object.keys(more).length === 0
  }
  if (line === 'POST /ext/health') return /^health\.(?:getLiveness|health|readiness|liveness)$/.test(method)
  if (line !== 'POST /' && line !== 'POST /ext/bc/C/rpc') return false
  switch (method) {
    case 'eth_chainId':
    case 'eth_blockNumber':
    case 'net_version':
    case 'web3_clientVersion':
      return params === undefined || (Array.isArray(params) && params.length === 0)
    case 'eth_getBlockByNumber':
      return (
        params.length === 2 &&
        typeof params[1] === 'boolean' &&
        /^(?:latest|pending|safe|finalized|earliest|0x(?:0|[1-9a-fA-F][0-9a-fA-F]*))$/.test(params[0])
      )
    case 'eth_getTransactionByHash':
      return params.length === 1 && /^0x[0-9a-fA-F]{64}$/.test(params[0])
  }
  return false
}

test('valid requests are valid, and reach a node', async () => {
  const { send, asked } = await openHostile()

  for (const valid of VALID) expect((await send(valid)).map(brief)[0]).toMatch(/^200 /)

  expect(asked.length).toBeGreaterThanOrEqual(VALID.length)
  expect(asked.filter((one) => !isValid(one))).toEqual([])
})

test('however a request is garbled, every answer is HTTP and JSON, and no node gets an invalid request', {
  timeout: 120_000,
}, async () => {
  // Half a request must not keep the test waiting.
  const { open, asked, log, expectUnharmed } = await openHostile({
    arrival: { headersMs: 1500, requestMs: 1500, checkEveryMs: 50 },
  })

  async function send(garbled: string) {
    const talk = open()
    talk.write(garbled)
    // `connection: close` may be among what was garbled.
    const answers = await talk.settled()
    talk.socket.destroy()
    return answers
  }

  await fc.assert(
    fc.asyncProperty(fc.array(mutant, { minLength: 150, maxLength: 150 }), async (mutants) => {
      const answers = await Promise.all(mutants.map(send))

      // `brief` itself expects JSON of every answer.
      for (const replies of answers) for (const one of replies) expect(brief(one)).toMatch(/^(?:[245]\d\d|100)\b/)
      for (const one of answers.flat()) expect(one.body).not.toContain(ID)
      expect(asked.splice(0).filter((one) => !isValid(one))).toEqual([])
    }),
    { numRuns: 15, interruptAfterTimeLimit: 60_000 },
  )

  expect(log.lines.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([])
  await expectUnharmed()
})
