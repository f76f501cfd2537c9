import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { brief, GOOD, openHostile, post } from './hostile-setting.ts'
import { ADMIN_ID, caller, ID } from './setting.ts'

const WALLET = `/ethereum/${ID}`
const UNPARSABLE = '400 -32700 null'

/** With a title that fits a line. */
const named = (text: string): [string, string] => [
  text.length > 80 ? `${JSON.stringify(text.slice(0, 40))}… of ${text.length} characters` : JSON.stringify(text),
  text,
]
const call = (method: string, params?: string, id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}}`

describe('a body that is no JSON is -32700 with HTTP 400 and id null', () => {
  test.each(
    [
      '',
      ' ',
      '\r\n\r\n',
      '\0',
      `${GOOD}\0`,
      `\0${GOOD}`,
      `${GOOD}${GOOD}`,
      `${GOOD},`,
      `${GOOD}]`,
      GOOD.slice(0, -1),
      GOOD.slice(1),
      GOOD.replace('}', ',}'),
      `[${GOOD},]`,
      `[,${GOOD}]`,
      `/* a comment */${GOOD}`,
      `${GOOD}// a comment`,
      GOOD.replaceAll('"', "'"),
      GOOD.replaceAll('"', ''),
      GOOD.replace('eth', '\n'),
      GOOD.replace('eth', '\t'),
      GOOD.replace('eth', '\\x41'),
      GOOD.replace('eth', '\\u00g0'),
      GOOD.replace('eth', '\\'),
      call('eth_chainId', '[]', 'NaN'),
      call('eth_chainId', '[]', 'Infinity'),
      call('eth_chainId', '[]', '-'),
      call('eth_chainId', '[]', '+1'),
      call('eth_chainId', '[]', '01'),
      call('eth_chainId', '[]', '1.'),
      call('eth_chainId', '[]', '.5'),
      call('eth_chainId', '[]', '1e'),
      call('eth_chainId', '[]', '0x10'),
      call('eth_chainId', '[]', '1_000'),
      call('eth_chainId', '[]', '1n'),
      call('eth_chainId', '[]', 'undefined'),
      call('eth_chainId', '[]', 'None'),
      call('eth_chainId', '[]', 'nul'),
      call('eth_chainId', '[]', 'nullx'),
      call('eth_chainId', '[]', 'True'),
      'jsonrpc=2.0&id=1&method=eth_chainId',
      `<?xml version="1.0"?><methodCall/>`,
      `)]}',\n${GOOD}`,
      'GET / HTTP/1.1\r\n\r\n',
    ].map(named),
  )('%s', async (_what, body) => {
    const { send, asked } = await openHostile()

    expect((await send(post(WALLET, body))).map(brief)).toEqual([UNPARSABLE])
    expect(asked).toEqual([])
  })

  test.each<[string, Buffer]>([
    ['with a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(GOOD)])],
    ['in UTF-16', Buffer.from(GOOD, 'utf16le')],
    ['in UTF-16 with its mark', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(GOOD, 'utf16le')])],
    ['in Latin-1', Buffer.from(GOOD.replace('eth', '\xe9'), 'latin1')],
    ['with an overlong quote', Buffer.from(GOOD.replace('eth', '\xc0\xa2'), 'latin1')],
    ['with a surrogate in three bytes', Buffer.from(GOOD.replace('eth', '\xed\xa0\x80'), 'latin1')],
    ['with a character beyond Unicode', Buffer.from(GOOD.replace('eth', '\xf4\x90\x80\x80'), 'latin1')],
    ['with half a character at its end', Buffer.concat([Buffer.from(GOOD), Buffer.from([0xc3])])],
    ['compressed, and not saying so', gzipSync(GOOD)],
    ['of MessagePack', Buffer.from([0x83, 0xa7, ...Buffer.from('jsonrpc'), 0xa3, ...Buffer.from('2.0')])],
  ])('%s', async (_what, body) => {
    const { send, asked } = await openHostile()

    expect((await send(post(WALLET, body))).map(brief)).toEqual([UNPARSABLE])
    expect(asked).toEqual([])
  })

  test.each([
    ['arrays', '['.repeat(100_000)],
    ['arrays that are closed', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', '{"a":'.repeat(100_000)],
    ['arrays in params', call('eth_chainId', '['.repeat(100_000) + ']'.repeat(100_000))],
    ['objects in params', call('eth_chainId', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
    ['arrays in an ignored member', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},${GOOD.slice(1)}`],
    ['arrays as the id', call('eth_chainId', '[]', '['.repeat(100_000) + ']'.repeat(100_000))],
    ['batches', `${'['.repeat(100_000)}${GOOD}${']'.repeat(100_000)}`],
  ])('nesting 100,000 %s', async (_what, body) => {
    const { send, asked, expectUnharmed } = await openHostile({ bodyLimitBytes: 2 ** 20 })

    expect((await send(post(WALLET, body))).map(brief)).toEqual([UNPARSABLE])

    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('what is JSON and no request is -32600 with HTTP 400', () => {
  test.each<[string, string]>([
    ['null', 'null'],
    ['true', 'null'],
    ['1', 'null'],
    ['"eth_chainId"', 'null'],
    ['{}', 'null'],
    ['[]', 'null'],
    ['[ ]', 'null'],
    [GOOD.replace('"2.0"', '2.0'), '1'],
    [GOOD.replace('"2.0"', '"2"'), '1'],
    [GOOD.replace('"2.0"', '" 2.0"'), '1'],
    [GOOD.replace('"jsonrpc":"2.0",', ''), '1'],
    [GOOD.replace('jsonrpc', 'JSONRPC'), '1'],
    [GOOD.replace('method', 'Method'), '1'],
    [GOOD.replace('"eth_chainId"', '["eth_chainId"]'), '1'],
    [GOOD.replace('"eth_chainId"', 'null'), '1'],
    [call('eth_chainId', 'null'), '1'],
    [call('eth_chainId', '"[]"'), '1'],
    [call('eth_chainId', '0'), '1'],
    [call('eth_chainId', '[]', '{}'), 'null'],
    [call('eth_chainId', '[]', '[1]'), 'null'],
    [call('eth_chainId', '[]', 'true'), 'null'],
    // Two readers may take different ones of them.
    [`{"method":"eth_call",${GOOD.slice(1)}`, '1'],
    [`${GOOD.slice(0, -1)},"method":"eth_chainId"}`, '1'],
    [`${GOOD.slice(0, -1)},"m\\u0065thod":"debug_setHead"}`, '1'],
    [`{"\\u006d\\u0065\\u0074\\u0068\\u006f\\u0064":"x",${GOOD.slice(1)}`, '1'],
    [`${GOOD.slice(0, -1)},"params":[],"params":[]}`, '1'],
    [`${GOOD.slice(0, -1)},"jsonrpc":"2.0"}`, '1'],
    [`${GOOD.slice(0, -1)},"id":1}`, 'null'],
    [`${GOOD.slice(0, -1)},"\\u0069d":2}`, 'null'],
    [`{"id":"a","id":"b",${GOOD.slice(1)}`, 'null'],
  ])('%s', async (body, id) => {
    const { send, asked } = await openHostile()

    expect((await send(post(WALLET, body))).map(brief)).toEqual([`400 -32600 ${id}`])
    expect(asked).toEqual([])
  })
})

// Go reads names of members in any case, in which ſ is an s, and of several the last.
test.each(['METHOD', 'Method', 'methoD', 'm\u017fethod', 'PARAMS', 'Id', 'JSONRPC'])(
  'a member %s beside the right one never reaches a node',
  async (name) => {
    const { send, asked, expectUnharmed } = await openHostile()
    const member = `"${name}":"debug_setHead"`

    for (const body of [`{${member},${GOOD.slice(1)}`, `${GOOD.slice(0, -1)},${member}}`]) {
      expect((await send(post(WALLET, Buffer.from(body)))).map(brief)).toEqual(['200 result 1'])
      const sent: object = JSON.parse(asked.at(-1)?.body ?? '{}')
      expect(sent).toEqual({ jsonrpc: '2.0', id: expect.anything(), method: 'eth_chainId' })
    }

    expect(asked).toHaveLength(2)
    asked.splice(0)
    await expectUnharmed()
  },
)

describe('an id is echoed byte for byte', () => {
  const IDS = [
    '9007199254740993',
    '-9007199254740993',
    '1e400',
    '-1E+400',
    '1e-400',
    '-0',
    '0.10',
    '1.0e0',
    '9'.repeat(1000),
    'null',
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"\\uDFFF\\uD800"',
    '"\\/\\b\\f"',
    '"\\u0022,\\u0022method\\u0022:\\u0022x"',
    '"\\",\\"result\\":\\"forged"',
    '"</script>"',
    '"\\r\\nx-evil: 1"',
    '"\xf0\x9f\x98\x80 \xd0\xba\xd0\xbb\xd1\x8e\xd1\x87 \xe2\x80\xa8"',
    `"${'x'.repeat(1500)}"`,
    `"${'\xc3\xa9'.repeat(700)}"`,
    '"__proto__"',
  ]

  test.each(IDS.map(named))('%s', async (_what, id) => {
    const { send } = await openHostile()
    // The ids are bytes already, one a character.
    const say = async (method: string, target = WALLET) => {
      const [told] = await send(post(target, Buffer.from(call(method, '[]', id), 'latin1')))
      return told!
    }

    const good = await say('eth_chainId')
    expect([good.status, good.body]).toEqual([200, `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`])
    for (const bad of [await say('no_such'), await say('eth_chainId', `${WALLET}x`), await say('eth_chainId', '/x')]) {
      expect(bad.body.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32`)).toBe(true)
      expect([...bad.headers.keys()]).not.toContain('x-evil')
    }
  })

  test('in a batch, all of them in their order', async () => {
    const { send } = await openHostile({ batchLimit: 100 })
    const batch = (method: string) => `[${IDS.map((id) => call(method, '[]', id)).join(',')}]`

    const [good] = await send(post(WALLET, Buffer.from(batch('eth_chainId').slice(0, 4096 * 4), 'latin1')))
    expect(good!.status).toBe(413)
    const { send: more } = await openHostile({ batchLimit: 100, bodyLimitBytes: 2 ** 16 })
    const [told] = await more(post(WALLET, Buffer.from(batch('eth_chainId'), 'latin1')))
    const [refused] = await more(post(WALLET, Buffer.from(batch('no_such'), 'latin1')))

    expect(told!.body).toBe(`[${IDS.map((id) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`).join(',')}]`)
    for (const id of IDS) expect(refused!.body).toContain(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,`)
    expect(JSON.parse(refused!.body)).toHaveLength(IDS.length)
  })
})

describe('batches', () => {
  test('of 10,000 elements is rejected whole, and nothing is forwarded', async () => {
    const { send, asked, expectUnharmed } = await openHostile({ bodyLimitBytes: 2 ** 20, batchLimit: 100 })

    for (const element of [GOOD, '1', '[]', '{}', '{"jsonrpc":"2.0","method":"eth_chainId"}']) {
      const body = `[${Array.from({ length: 10_000 }, () => element).join(',')}]`
      expect((await send(post(WALLET, body))).map(brief)).toEqual(['413 -32600 null'])
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('of invalid requests is answered one by one', async () => {
    const { send, asked } = await openHostile()

    const [told] = await send(post(WALLET, `[1,"a",null,[],[${GOOD}],{},{"id":7},${GOOD}]`))

    expect(told!.status).toBe(200)
    const said = JSON.parse(told!.body).map(({ id, error }: any) => [id, error?.code ?? 'result'])
    expect(said).toEqual([
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [7, -32600],
      [1, 'result'],
    ])
    expect(asked).toHaveLength(1)
  })

  test('one body of 100 KB is refused where 4 KB are allowed, in one piece or in many', async () => {
    const { send, asked, expectUnharmed } = await openHostile()
    const body = call('eth_chainId', `[${' '.repeat(100_000)}]`)
    const head = `POST ${WALLET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
    const chunks = (body.match(/[^]{1,1000}/g) ?? []).map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)

    expect((await send(post(WALLET, body))).map(brief)).toEqual(['413 -32600 null'])
    expect((await send(`${head}${chunks.join('')}0\r\n\r\n`)).map(brief)).toEqual(['413 -32600 null'])

    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('an error about a whole request in chunks', () => {
  const inChunks = (target: string, body: string, headers = '') =>
    `POST ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers || 'content-type: application/json\r\n'}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

  test.each([
    ['a wrong endpoint_id', '/ethereum/wrong-0123456789abcdef', '', '401 -32099 1'],
    ['an unknown network', `/nowhere/${ID}`, '', '403 -32099 1'],
    ['an unknown route', `${WALLET}/nowhere`, '', '404 -32600 1'],
    ['another type', WALLET, 'content-type: text/plain\r\n', '415 -32600 1'],
  ])('carries its id: %s', async (_what, target, headers, told) => {
    const { send, asked } = await openHostile()

    expect((await send(inChunks(target, GOOD, headers))).map(brief)).toEqual([told])

    expect(asked).toEqual([])
  })

  test('carries its id where the caller sends too many', async () => {
    const rateLimit = { requests: 1, perMs: 3_600_000 }
    const { send } = await openHostile({ callers: [caller('wallet', ID, { rateLimit })] })

    await send(inChunks(WALLET, GOOD))

    expect((await send(inChunks(WALLET, GOOD))).map(brief)).toEqual(['429 -32005 1'])
  })

  test('carries none if the body is longer than is read for it', async () => {
    const { send } = await openHostile()
    const long = call('eth_chainId', `[${' '.repeat(20_000)}]`)

    const told = await send(inChunks('/ethereum/wrong-0123456789abcdef', long))

    expect(told.map(brief)).toEqual(['401 -32099 null'])
  })
})

describe('what is no plain application/json is -32600 with HTTP 415', () => {
  const ask = (headers: string, body: string | Buffer = GOOD) =>
    post(WALLET, body, headers).replace('content-type: application/json\r\n', '')

  test.each<[string, string, string]>([
    ['no type', '', '1'],
    ['an empty type', 'content-type:\r\n', '1'],
    ['text', 'content-type: text/plain\r\n', '1'],
    ['a form', 'content-type: application/x-www-form-urlencoded\r\n', '1'],
    ['parts', 'content-type: multipart/form-data; boundary=x\r\n', '1'],
    ['any type', 'content-type: */*\r\n', '1'],
    ['a type with a longer name', 'content-type: application/json-rpc\r\n', '1'],
    ['a type with a suffix', 'content-type: application/problem+json\r\n', '1'],
    ['two types', 'content-type: application/json, text/plain\r\n', '1'],
    ['the type as a parameter of another', 'content-type: text/plain; application/json\r\n', '1'],
    ['the type behind another', 'content-type: text/plain\r\ncontent-type: application/json\r\n', '1'],
    ['an unknown encoding', 'content-type: application/json\r\ncontent-encoding: x\r\n', '1'],
    ['an encoding twice', 'content-type: application/json\r\ncontent-encoding: identity, identity\r\n', '1'],
  ])('%s', async (_what, headers, id) => {
    const { send, asked, expectUnharmed } = await openHostile()

    expect((await send(ask(headers))).map(brief)).toEqual([`415 -32600 ${id}`])

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('compressed bodies are not unpacked, bombs among them', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'identity, gzip', 'GZIP']) {
      for (const body of [gzipSync(GOOD), gzipSync(Buffer.alloc(10 * 2 ** 20, ' '))]) {
        const headers = `content-type: application/json\r\ncontent-encoding: ${encoding}\r\n`
        expect((await send(ask(headers, body))).map(brief)).toEqual(['415 -32600 null'])
      }
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('a method that is not on the list is -32601 with HTTP 200', () => {
  test.each(
    [
      '',
      ' eth_chainId',
      'eth_chainId ',
      'eth_chainId\0',
      'ETH_CHAINID',
      'eth_chainid',
      'eth_chainId\r\nx-evil: 1',
      'eth_сhainId',
      'rpc.discover',
      'rpc_modules',
      '__proto__',
      'constructor',
      'toString',
      'admin.alias',
      'admin_addPeer',
      'health.health',
      'debug_setHead',
      'eth_sendRawTransaction',
      'anvil_mine',
      'x'.repeat(3000),
    ].map(named),
  )('%s', async (_what, method) => {
    const { send, asked } = await openHostile()

    const told = await send(post(WALLET, call(method, '[]')))

    expect(told.map(brief)).toEqual(['200 -32601 1'])
    // What the caller called it is not said back.
    if (method.length > 20) expect(told[0]!.body).not.toContain(method)
    expect(asked).toEqual([])
  })

  test('nor does another way in open it', async () => {
    const { send, asked } = await openHostile()
    const [avax, admin] = [`/avalanche/${ADMIN_ID}`, `/avalanche/${ADMIN_ID}/ext/admin`]
    const alias = '{"endpoint":"bc/C","alias":"x"}'

    for (const [target, method, params] of [
      [avax, 'admin.alias', alias],
      [`${avax}/ext/health`, 'admin.alias', alias],
      [`${avax}/ext/health`, 'eth_chainId', '[]'],
      [admin, 'health.health', '{}'],
      [admin, 'eth_chainId', '[]'],
      [admin, 'admin.aliasChain', alias],
      [admin, 'admin.getConfig', '{}'],
      [admin, 'admin.Alias', alias],
      [admin, 'Admin.alias', alias],
      [admin, 'admin.dbGet', '{"key":"0x"}'],
    ] as const) {
      expect.soft((await send(post(target, call(method, params)))).map(brief), method).toEqual(['200 -32601 1'])
    }

    expect(asked).toEqual([])
  })
})

describe('bad params are -32602 with HTTP 200', () => {
  const hash = `0x${'a'.repeat(64)}`
  const health = `/avalanche/${ID}/ext/health`
  const admin = `/avalanche/${ADMIN_ID}/ext/admin`

  test.each<[string, string, string]>([
    ...[
      '[]',
      '{}',
      '{"block":"latest"}',
      '["latest"]',
      '["latest",false,0]',
      '["latest","false"]',
      '["latest",0]',
      '["latest",null]',
      '[null,false]',
      '[1,false]',
      '[1e400,false]',
      '[{},false]',
      '[{"blockHash":"0x"},false]',
      '[["latest"],false]',
      '["LATEST",false]',
      '["latest ",false]',
      '["",false]',
      '["0x",false]',
      '["0X1",false]',
      '["1",false]',
      '["0x01",false]',
      '["-0x1",false]',
      '["0x1.8",false]',
      '["0x1p4",false]',
      '["0xg",false]',
      '["0x20000000000000",false]',
      '["0xfffffffffffffffff",false]',
      '["\\ud800",false]',
      '["0x1\\u0000",false]',
      '["0x１",false]',
    ].map((params): [string, string, string] => [WALLET, 'eth_getBlockByNumber', params]),
    ...[
      '[]',
      `["${hash}",true]`,
      `["${hash}0"]`,
      `["${hash.slice(0, -1)}"]`,
      `["${hash.slice(2)}"]`,
      `["0X${hash.slice(2)}"]`,
      `["${hash.slice(0, -1)}g"]`,
      `["${hash} "]`,
      `[["${hash}"]]`,
      '[null]',
      '[1]',
      `{"hash":"${hash}"}`,
    ].map((params): [string, string, string] => [WALLET, 'eth_getTransactionByHash', params]),
    [WALLET, 'eth_chainId', '[1]'],
    [WALLET, 'eth_blockNumber', '{}'],
    [health, 'health.health', '{"tags":"x"}'],
    [health, 'health.health', '{"tags":[1]}'],
    [health, 'health.health', '{"tags":[""]}'],
    [health, 'health.health', '{"Tags":["x"]}'],
    [health, 'health.health', '{"tags":[],"tags":["x"]}'],
    [health, 'health.health', '{"tags":[],"t\\u0061gs":["x"]}'],
    [health, 'health.health', `{"tags":[${Array.from({ length: 65 }, (_, at) => `"${at}"`).join(',')}]}`],
    [health, 'health.health', '[{},{}]'],
    [health, 'health.getLiveness', '["x"]'],
    [admin, 'admin.alias', '[]'],
    [admin, 'admin.alias', '{"endpoint":"bc/C"}'],
    [admin, 'admin.alias', '{"endpoint":"bc/C","alias":1}'],
    [admin, 'admin.alias', '{"endpoint":"bc/C","alias":"a","Alias":"b"}'],
    [admin, 'admin.alias', '{"endpoint":"bc/C","alias":"a","alias":"b"}'],
    [admin, 'admin.alias', '{"endpoint":"bc/C","alias":"a","\\u0061lias":"b"}'],
    [admin, 'admin.alias', `{"endpoint":"bc/C","alias":"${'a'.repeat(513)}"}`],
    [admin, 'admin.alias', `{"endpoint":"bc/C","alias":"${'é'.repeat(257)}"}`],
  ])('%s %s %s', async (target, method, params) => {
    const { send, asked } = await openHostile()

    expect((await send(post(target, call(method, params)))).map(brief)).toEqual(['200 -32602 1'])
    expect(asked).toEqual([])
  })

  test('an alias of 512 bytes is none of them', async () => {
    const { send, asked } = await openHostile()
    const alias = `{"endpoint":"bc/C","alias":"${'a'.repeat(512)}"}`

    expect((await send(post(admin, call('admin.alias', alias)))).map(brief)).toEqual(['200 result 1'])
    expect(asked.map(({ line }) => line)).toEqual(['POST /ext/admin'])
  })
})

test('what is sent on is the call and nothing else, however it was spelled', async () => {
  const { send, asked } = await openHostile()
  const spelled = ` {\t"\\u0069d" : "a" , "extra" : {"method":"x"} , "__proto__" : {"id":2} , "p\\u0061rams" : [ "\\u006catest" ,\r\n false ] , "m\\u0065thod" : "eth_getBlockByNumb\\u0065r" , "jsonrpc" : "\\u0032.0" } `

  expect((await send(post(WALLET, spelled))).map(brief)).toEqual(['200 result "a"'])

  const [sent] = asked.map(({ body }) => JSON.parse(body))
  expect(sent).toEqual({
    jsonrpc: '2.0',
    id: expect.any(Number),
    method: 'eth_getBlockByNumber',
    params: ['latest', false],
  })
  expect(Object.keys(sent)).toEqual(['jsonrpc', 'id', 'method', 'params'])
})
