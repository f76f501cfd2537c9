import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Entry, readBody } from '../../src/gateway/request/envelope.ts'

const LIMITS = { batchLimit: 100 }
const read = (text: string | Buffer) => readBody(Buffer.from(text as string), LIMITS)

/** What came of a single request, in few words: an error and the id that it goes to, or the call. */
function single(text: string): unknown {
  const body = read(text)
  if (body.kind !== 'single') throw new Error(`${body.kind}, not single`)
  return brief(body.entry)
}
function brief(entry: Entry): unknown {
  return entry.kind === 'call' ? entry.call : [entry.rejection.kind, entry.id]
}

describe('a single call', () => {
  test('is read', () => {
    expect(single('{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}')).toEqual({
      id: '1',
      isNotification: false,
      method: 'eth_chainId',
      params: '[]',
    })
  })

  test('may have its members in any order, white space anywhere, and unknown members', () => {
    const text =
      ' \r\n{ "params" : { "a" : [ 1 ] } ,\t"extra":null, "__proto__":{"id":2}, "method":"x", "id":7, "jsonrpc":"2.0" }\n'

    expect(single(text)).toEqual({ id: '7', isNotification: false, method: 'x', params: '{ "a" : [ 1 ] }' })
    expect(({} as { id?: unknown }).id).toBeUndefined()
  })

  test.each([
    '9007199254740993',
    '1.0e2',
    '-0',
    '1.5',
    '"ключ"',
    '"\\u0000\\""',
    '""',
    '"1"',
    'null',
    '123456789012345678901234567890',
    `"${'x'.repeat(2000)}"`,
  ])('keeps its id %s byte for byte', (id) => {
    expect(single(`{"jsonrpc":"2.0","id":${id},"method":"x"}`)).toEqual({
      id,
      isNotification: false,
      method: 'x',
      params: null,
    })
  })

  test('keeps its params byte for byte', () => {
    const params = '[ 1e0,\t123456789012345678901234567890, "\\u0041é", {"b":1,"a":2,"a":3} ]'

    expect(single(`{"jsonrpc":"2.0","id":1,"method":"x","params":${params}}`)).toMatchObject({ params })
  })

  test('without an id is a notification, with null for one it is not', () => {
    expect(single('{"jsonrpc":"2.0","method":"x"}')).toMatchObject({ id: 'null', isNotification: true })
    expect(single('{"jsonrpc":"2.0","method":"x","id":null}')).toMatchObject({ id: 'null', isNotification: false })
  })

  test('names may be escaped', () => {
    expect(single('{"json\\u0072pc":"2\\u002e0","\\u0069d":1,"method":"eth_chain\\u0049d"}')).toMatchObject({
      id: '1',
      method: 'eth_chainId',
    })
  })
})

describe('no request, and told so under its id', () => {
  test.each([
    ['1', 'null'],
    ['"x"', 'null'],
    ['null', 'null'],
    ['{}', 'null'],
    ['{"id":5}', '5'],
    ['{"id":5,"method":"x"}', '5'],
    ['{"jsonrpc":"1.0","id":5,"method":"x"}', '5'],
    ['{"jsonrpc":2.0,"id":5,"method":"x"}', '5'],
    ['{"jsonrpc":"2.00","id":5,"method":"x"}', '5'],
    ['{"jsonrpc":null,"id":5,"method":"x"}', '5'],
    ['{"jsonrpc":"2.0","id":"a"}', '"a"'],
    ['{"jsonrpc":"2.0","id":"a","method":1}', '"a"'],
    ['{"jsonrpc":"2.0","id":"a","method":null}', '"a"'],
    ['{"jsonrpc":"2.0","method":["x"]}', 'null'],
    ['{"jsonrpc":"2.0","id":5,"method":"x","params":"bar"}', '5'],
    ['{"jsonrpc":"2.0","id":5,"method":"x","params":null}', '5'],
    ['{"jsonrpc":"2.0","id":5,"method":"x","params":1}', '5'],
    ['{"jsonrpc":"2.0","id":{},"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","id":[1],"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","id":true,"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","id":false,"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"x"}', 'null'],
    ['{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"x"}', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","\\u006dethod":"y"}', '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","params":[],"params":[]}', '1'],
  ])('%s', (text, id) => {
    expect(single(text)).toEqual(['no-request', id])
  })
})

describe('a body that cannot be read', () => {
  test.each([
    '',
    ' ',
    '\ufeff{"jsonrpc":"2.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":1,"method":"x"',
    '{"jsonrpc":"2.0","id":1,"method":"x"}}',
    '{"jsonrpc":"2.0","id":1,"method":"x"}{"jsonrpc":"2.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":1,"method":"x",}',
    '{"jsonrpc":"2.0","id":01,"method":"x"}',
    '{"jsonrpc":"2.0","id":NaN,"method":"x"}',
    '{"jsonrpc":"2.0","id":1,"method":"x","params":[,]}',
    '{"jsonrpc":"2.0","id":1,"method":"a\nb"}',
    "{'jsonrpc':'2.0'}",
    '[{"jsonrpc":"2.0","id":1,"method":"x"}',
    '[{"jsonrpc":"2.0","id":1,"method":"x"},]',
    '[{"jsonrpc":"2.0","id":1,"method":"x"}] []',
    '[,]',
    '[]]',
    '\u0000',
  ])('%j is unparsable', (text) => {
    expect(read(text)).toMatchObject({ kind: 'rejected', rejection: { kind: 'unparsable' } })
  })

  test.each([
    ['cut off', [0xc3]],
    ['overlong', [0xc0, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['latin1', [0xe9]],
  ])('text that is not UTF-8 (%s) is unparsable, also in ignored members', (_, bytes) => {
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x","y":"'),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ])

    expect(readBody(body, LIMITS)).toMatchObject({ kind: 'rejected', rejection: { kind: 'unparsable' } })
  })

  test('nests 65 levels deep, or 100,000', () => {
    const params = (depth: number) =>
      `{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(depth)}${']'.repeat(depth)}}`

    expect(read(params(63)).kind).toBe('single')
    expect(read(params(64))).toMatchObject({ kind: 'rejected', rejection: { kind: 'unparsable' } })
    expect(read(`[${params(62)}]`).kind).toBe('batch')
    expect(read(`[${params(63)}]`)).toMatchObject({ kind: 'rejected', rejection: { kind: 'unparsable' } })
    for (const opening of ['[', '{"a":', '[{"a":']) {
      expect(read(opening.repeat(100_000))).toMatchObject({ kind: 'rejected', rejection: { kind: 'unparsable' } })
    }
  })

  test('no body makes it throw, and what it takes JSON.parse takes', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"id"',
      '"method"',
      '"jsonrpc"',
      '"2.0"',
      '"params"',
      '1',
      'null',
      ' ',
      'é',
      '\u0001',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: piece, maxLength: 40 }).map((text) => Buffer.from(text)),
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        ),
        (body) => {
          const { kind } = readBody(body, LIMITS)

          if (kind !== 'rejected') JSON.parse(body.toString())
        },
      ),
      { numRuns: 5000 },
    )
  })
})

describe('a batch', () => {
  test('is its elements in order, each good or bad by itself', () => {
    const body = read(
      '[ {"jsonrpc":"2.0","id":2,"method":"x"} , 1,"a",[],{"id":"b"}, {"jsonrpc":"2.0","method":"n"},null]',
    )

    expect(body.kind === 'batch' && body.entries.map(brief)).toEqual([
      { id: '2', isNotification: false, method: 'x', params: null },
      ['no-request', 'null'],
      ['no-request', 'null'],
      ['no-request', 'null'],
      ['no-request', '"b"'],
      { id: 'null', isNotification: true, method: 'n', params: null },
      ['no-request', 'null'],
    ])
  })

  test.each(['[]', ' [ ] '])('that is empty (%j) is an invalid request', (text) => {
    expect(read(text)).toMatchObject({ kind: 'rejected', rejection: { kind: 'no-request' } })
  })

  test('of one call is a batch', () => {
    expect(read('[{"jsonrpc":"2.0","id":1,"method":"x"}]').kind).toBe('batch')
  })

  test('may be as large as the limit, and no larger, whatever the rest of it is', () => {
    const call = '{"jsonrpc":"2.0","id":1,"method":"x"}'
    const batchOf = (count: number) => `[${Array.from({ length: count }, () => call).join(',')}]`

    expect(read(batchOf(100))).toMatchObject({ kind: 'batch' })
    expect(read(batchOf(101))).toMatchObject({ kind: 'rejected', rejection: { kind: 'too-large' } })
    expect(read(batchOf(10_000))).toMatchObject({ kind: 'rejected', rejection: { kind: 'too-large' } })
    expect(read(`${batchOf(100).slice(0, -1)},!`)).toMatchObject({ kind: 'rejected', rejection: { kind: 'too-large' } })
  })
})

test('whatever JSON.stringify wrote comes back as it was', () => {
  const id = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constant(null),
  )
  const params = fc.option(
    fc.oneof(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))),
    { nil: undefined },
  )
  const call = fc.record({ id, method: fc.string({ unit: 'grapheme' }), params })
  fc.assert(
    fc.property(
      fc.array(call, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      fc.constantFrom(undefined, 2),
      (calls, alone, space) => {
        const sent = calls.map((each) => ({ ...each, jsonrpc: '2.0' }))
        const body = read(JSON.stringify(alone ? sent[0] : sent, null, space))

        const entries = body.kind === 'single' ? [body.entry] : body.kind === 'batch' ? body.entries : []
        expect(entries.map((entry) => (entry.kind === 'call' ? revived(entry) : entry))).toEqual(
          (alone ? calls.slice(0, 1) : calls).map((each) => JSON.parse(JSON.stringify(each))),
        )
      },
    ),
  )
})

function revived({ call }: Extract<Entry, { kind: 'call' }>): unknown {
  const { id, method, params } = call
  return { id: JSON.parse(id), method, ...(params === null ? {} : { params: JSON.parse(params) }) }
}
