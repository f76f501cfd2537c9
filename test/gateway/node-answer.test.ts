import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AnswerSpan,
  isNullResult,
  readNodeAnswer as readInSlices,
} from '../../src/gateway/failover/node-answer.ts'
import { finish } from '../support/finish.ts'

const ID = '7'

function readNodeAnswer(body: Buffer, id: string): AnswerSpan {
  return finish(readInSlices(body, id))
}

/** The kind, and the text that it points at. */
function read(text: string, id = ID): unknown[] {
  const body = Buffer.from(text)
  const answer = readNodeAnswer(body, id)
  switch (answer.kind) {
    case 'result':
      return ['result', body.toString('utf8', answer.start, answer.end)]
    case 'error':
      return ['error', body.toString('utf8', answer.start, answer.end), answer.code, answer.idIsNull]
    case 'wrong-id':
    case 'garbage':
      return [answer.kind]
  }
}

describe('a result', () => {
  test.each([
    '{"jsonrpc":"2.0","id":7,"result":"0x1"}',
    '{"jsonrpc":"2.0","result":"0x1","id":7}\n',
    '{"result":"0x1","error":null,"id":7}',
    '{"id":7,"result":"0x1","jsonrpc":"2.0","extra":{"result":2,"error":{}}}',
    ' { "id" : 7 , "result" : "0x1" } \r\n',
    '{"\\u0069d":7,"res\\u0075lt":"0x1"}',
  ])('is found in %s', (text) => {
    expect(read(text)).toEqual(['result', '"0x1"'])
  })

  test('is the very bytes that the node sent', () => {
    const result = '{ "n":9007199254740993,"b":1,"a":1.0e2,"a":"\\u00e9é", "id":8,"error":{"code":1} }'

    expect(read(`{"jsonrpc":"2.0","id":7,"result":${result}}`)).toEqual(['result', result])
  })

  test('may be null, and may be so beside a null error', () => {
    const body = Buffer.from('{"id":7,"result":null,"error":null}')
    const answer = readNodeAnswer(body, ID)

    expect(answer).toEqual({ kind: 'result', start: 17, end: 21 })
    expect(answer.kind === 'result' && isNullResult(body, answer)).toBe(true)
  })

  test.each(['"null"', '[]', 'true', '1234', 'nan'])('%s is not null', (text) => {
    expect(isNullResult(Buffer.from(text), { start: 0, end: text.length })).toBe(false)
  })

  test('may be as deep as a trace of calls within calls within calls', () => {
    const trace = `${'{"calls":['.repeat(1024)}${']}'.repeat(1024)}`

    expect(read(`{"jsonrpc":"2.0","id":7,"result":${trace}}`)).toEqual(['result', trace])
  })
})

describe("a node's own error", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"x"}}', '{"code":-32000,"message":"x"}', -32000],
    [
      '{"jsonrpc":"2.0","error":{"message":"x","code":3,"data":null},"id":7,"result":null}',
      '{"message":"x","code":3,"data":null}',
      3,
    ],
    ['{"id":7,"error":{"code":"-32000"}}', '{"code":"-32000"}', null],
    ['{"id":7,"error":{"code":1.5}}', '{"code":1.5}', null],
    ['{"id":7,"error":{"code":1e400}}', '{"code":1e400}', null],
    ['{"id":7,"error":{"code":[1]}}', '{"code":[1]}', null],
    ['{"id":7,"error":{"code":1,"code":2}}', '{"code":1,"code":2}', null],
    ['{"id":7,"error":{"data":{"code":1}}}', '{"data":{"code":1}}', null],
    ['{"id":7,"error":{}}', '{}', null],
  ])('is found in %s', (text, error, code) => {
    expect(read(text)).toEqual(['error', error, code, false])
  })

  test.each(['{"jsonrpc":"2.0","id":null,"error":{"code":-32005}}', '{"error":{"code":-32005}}'])(
    'may carry a null id: %s',
    (text) => {
      expect(read(text)).toEqual(['error', '{"code":-32005}', -32005, true])
    },
  )
})

describe('an answer to another request', () => {
  test.each([
    '{"id":8,"result":1}',
    '{"id":"7","result":1}',
    '{"id":7.0,"result":1}',
    '{"id":77,"result":1}',
    '{"id":null,"result":1}',
    '{"result":1}',
    '{"id":[7],"result":1}',
    '{"id":8,"error":{"code":1}}',
    '{"id":"7","error":{"code":1}}',
    '{"id":8}',
  ])('%s', (text) => {
    expect(read(text)).toEqual(['wrong-id'])
  })

  test('is that to an id of which ours is only the beginning, or the end', () => {
    expect(read('{"id":12,"result":1}', '123')).toEqual(['wrong-id'])
    expect(read('{"id":123,"result":1}', '12')).toEqual(['wrong-id'])
    expect(read('{"id":123,"result":1}', '23')).toEqual(['wrong-id'])
  })
})

describe('garbage', () => {
  test.each([
    '',
    'null',
    '1',
    '"x"',
    '[{"id":7,"result":1}]',
    '<html></html>',
    '{"id":7}',
    '{"id":7,"error":null}',
    '{"id":7,"result":1,"error":{"code":1}}',
    '{"id":7,"result":null,"error":"x"}',
    '{"id":7,"error":"x"}',
    '{"id":7,"error":1}',
    '{"id":7,"error":[]}',
    '{"id":7,"error":false,"result":1}',
    '{"id":7,"result":1,"result":2}',
    '{"id":7,"result":1,"res\\u0075lt":2}',
    '{"id":7,"id":7,"result":1}',
    '{"id":7,"id":8,"result":1}',
    '{"id":7,"error":null,"error":{"code":1},"result":1}',
    '{"id":7,"result":1}{"id":7,"result":1}',
    '{"id":7,"result":1},',
    '{"id":7,"result":1}}',
    '{"id":7,"result":{"a":1}',
    '{"id":7,"result":{"a":1]}',
    '{"id":7,"result":"a}',
    '{"id":7,"result":"a\nb"}',
    '{"id":7,"result":01}',
    '{"id":7,"result":undefined}',
    '{"id":7,"result":}',
    '\ufeff{"id":7,"result":1}',
    `{"id":7,"result":${'['.repeat(100_000)}`,
  ])('%s', (text) => {
    expect(read(text)).toEqual(['garbage'])
  })

  test('is what holds bytes that are no UTF-8', () => {
    const body = Buffer.from('{"id":7,"result":"\xe9"}', 'latin1')

    expect(readNodeAnswer(body, ID)).toEqual({ kind: 'garbage' })
  })

  test('is every answer that was cut off anywhere', () => {
    const whole = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"a":[1,"\\u00e9é",{}],"b":null}}')
    expect(readNodeAnswer(whole, ID).kind).toBe('result')

    for (let length = 0; length < whole.length; length++) {
      expect(readNodeAnswer(whole.subarray(0, length), ID)).toEqual({ kind: 'garbage' })
    }
  })
})

test('what is pointed at is always JSON by itself, whatever became of the answer on its way', () => {
  const edit = fc.tuple(
    fc.nat(),
    fc.constantFrom('', '{', '}', ']', '[', '"', ',', ':', '\\', '1', '\u0000', '},"result":1,"x":{'),
    fc.nat(3),
  )
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.boolean(),
      fc.array(edit, { maxLength: 3 }),
      (value, isResult, edits) => {
        const sent = JSON.stringify(
          isResult
            ? { jsonrpc: '2.0', id: 7, result: value }
            : { jsonrpc: '2.0', error: { code: 1, data: value }, id: 7 },
        )
        const text = edits.reduce((got, [where, piece, removed]) => {
          const at = where % (got.length + 1)
          return got.slice(0, at) + piece + got.slice(at + removed)
        }, sent)
        const [kind, found] = read(text)

        if (edits.length === 0) expect(kind).toBe(isResult ? 'result' : 'error')
        if (kind === 'result' || kind === 'error') {
          // JSON.parse takes the last of two: none has two.
          expect(JSON.parse(text)[kind]).toEqual(JSON.parse(String(found)))
        }
      },
    ),
    { numRuns: 5000 },
  )
})

test('every recorded JSON-RPC answer of a real node is read, and is what JSON.parse finds', () => {
  const folder = join(import.meta.dirname, '../answers')
  const bodies = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .map((file) => readFileSync(join(folder, file)))
    .filter((body) => body.includes('"jsonrpc"') && body.includes('"id"'))

  const read = bodies.map((body) => {
    const parsed = JSON.parse(body.toString())
    const answer = readNodeAnswer(body, JSON.stringify(parsed.id))
    const found =
      answer.kind === 'result' || answer.kind === 'error'
        ? JSON.parse(body.toString('utf8', answer.start, answer.end))
        : answer.kind
    return [found, parsed.error ?? parsed.result]
  })

  expect(read.length).toBeGreaterThan(0)
  expect(read.map(([found]) => found)).toEqual(read.map(([, expected]) => expected))
})

describe('a large answer', () => {
  const item = '{"a":[1,"x\\n",{"b":null}],"c":"0xabcdef0123456789"}'
  const result = (items: number) => `[${`${item},`.repeat(items)}${'['.repeat(40)}${']'.repeat(40)}]`
  const whole = (items: number) => Buffer.from(`{"jsonrpc":"2.0","result":${result(items)},"id":7}\n`)
  const slices = (body: Buffer) => [...readInSlices(body, ID)].length

  test('is read in slices', () => {
    const text = result(21_000)
    const body = whole(21_000)

    expect(body.length).toBeGreaterThan(2 ** 20)
    expect(slices(body)).toBe(Math.floor(body.length / 2 ** 18) + 1)
    expect(read(body.toString())).toEqual(['result', text])
    expect(slices(whole(100))).toBe(0)
  })

  test('is garbage if it ends anywhere else, or has other bytes', () => {
    const body = whole(12_000)
    const places = Array.from({ length: 40 }, (_, nth) => Math.floor((body.length * nth) / 40))

    for (const at of places) {
      expect(readNodeAnswer(body.subarray(0, at), ID)).toEqual({ kind: 'garbage' })
      const changed = Buffer.from(body)
      changed.write('\u0001', at)
      expect(readNodeAnswer(changed, ID)).toEqual({ kind: 'garbage' })
    }
  })

  test('may have a character where a slice ends, and is garbage if that is cut', () => {
    for (const [before, character] of [
      [2 ** 20 - 1, 'é'],
      [2 ** 20 - 1, '🙂'],
      [2 ** 20 - 3, '🙂'],
      [2 ** 20 - 4, '🙂'],
    ] as const) {
      const start = '{"id":7,"result":"'
      const text = `${start}${'a'.repeat(before - start.length)}${character}${'b'.repeat(300_000)}"}`
      const bytes = Buffer.from(text)

      expect(read(text)[0]).toBe('result')
      bytes[before + 1] = 0x41
      expect(readNodeAnswer(bytes, ID)).toEqual({ kind: 'garbage' })
    }
    expect(readNodeAnswer(Buffer.alloc(3 * 2 ** 20, 0x80), ID)).toEqual({ kind: 'garbage' })
  })

  test('is not copied if zero bytes follow it, and is read alike', () => {
    const body = whole(3000)
    const followed = Buffer.concat([Buffer.from('}'), body, Buffer.alloc(4)]).subarray(1, 1 + body.length)

    expect(readNodeAnswer(followed, ID)).toEqual(readNodeAnswer(body, ID))
    expect(readNodeAnswer(followed.subarray(0, -2), ID)).toEqual({ kind: 'garbage' })
  })

  test('may be read while others are', () => {
    const bodies = [8000, 9000, 7000].map((items) => whole(items))
    const expected = bodies.map((body) => readNodeAnswer(body, ID))
    const under = bodies.map((body) => readInSlices(body, ID))
    const found: unknown[] = []
    while (found.filter((each) => each !== undefined).length < bodies.length) {
      for (const [nth, reading] of under.entries()) {
        const slice = reading.next()
        if (slice.done === true) found[nth] ??= slice.value
      }
      read('{"id":7,"result":[[[[]]]]}')
    }

    expect(found).toEqual(expected)
  })
})
