import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HttpAnswerReader } from '../../src/nodes/http-answer.ts'

const HEAD = 'HTTP/1.1 200 OK\r\n'

interface Read {
  readonly taken: string
  readonly status: number
  readonly body: string
  readonly keepsAlive: boolean
  readonly hasExcess: boolean
}

/** In pieces that end at these places; each piece's memory is used again for the next. */
function read(text: string, cuts: readonly number[] = [], limits = { body: 1000, head: 16_384 }): Read {
  const bytes = Buffer.from(text, 'latin1')
  const reader = new HttpAnswerReader(limits.body, limits.head)
  const memory = Buffer.alloc(bytes.length)
  const places = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  let taken = 'more'
  let from = 0
  for (const to of places) {
    if (taken !== 'more' || to === from) continue
    memory.fill(0x21)
    bytes.copy(memory, 0, from, to)
    taken = reader.take(memory.subarray(0, to - from))
    from = to
  }
  const { status, keepsAlive } = reader
  return { taken, status, body: reader.body.toString(), keepsAlive, hasExcess: reader.hasExcess || from < bytes.length }
}

const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`

test.each([
  ['a length', `${HEAD}content-length: 5\r\n\r\nhello`, 'hello'],
  ['no body at all', `${HEAD}content-length: 0\r\n\r\n`, ''],
  ['chunks', `${CHUNKED}3\r\nhel\r\n2;x="y"\r\nlo\r\n0\r\n\r\n`, 'hello'],
  ['chunks and trailers', `${CHUNKED}5\r\nhello\r\n0\r\nexpires: never\r\n\r\n`, 'hello'],
  [
    'informational ones before it',
    `HTTP/1.1 103 Early\r\nlink: x\r\n\r\n${HEAD}content-length: 5\r\n\r\nhello`,
    'hello',
  ],
  ['blanks around a value', `${HEAD}content-length:\t 5 \t\r\n\r\nhello`, 'hello'],
  ['no reason', 'HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello', 'hello'],
])('an answer with %s is the same however it is cut', (_name, text, body) => {
  const whole = read(text)

  expect(whole).toEqual({ taken: 'whole', status: 200, body, keepsAlive: true, hasExcess: false })
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(read(text, cuts)).toEqual(whole)
    }),
  )
})

test.each([
  ['two lengths', `${HEAD}content-length: 5\r\ncontent-length: 5\r\n\r\nhello`],
  ['a length and chunks', `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length with a sign', `${HEAD}content-length: +5\r\n\r\nhello`],
  ['a length in hexadecimal', `${HEAD}content-length: 0x5\r\n\r\nhello`],
  ['a list of lengths', `${HEAD}content-length: 5, 5\r\n\r\nhello`],
  ['chunks within something else', `${HEAD}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
  ['chunks twice', `${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a header that goes on in the next line', `${HEAD}content-length: 5\r\n x: y\r\n\r\nhello`],
  ['a blank before the colon', `${HEAD}content-length : 5\r\n\r\nhello`],
  ['a line without colon', `${HEAD}content-length\r\n\r\nhello`],
  ['a bare line feed', `${HEAD}x: y\ncontent-length: 5\r\n\r\nhello`],
  ['a zero byte in a value', `${HEAD}x: \0\r\ncontent-length: 5\r\n\r\nhello`],
  ['another protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
  ['another version', 'HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['no size of a chunk', `${CHUNKED}\r\nhello\r\n0\r\n\r\n`],
  ['a size with a sign', `${CHUNKED}-5\r\nhello\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `${CHUNKED}4\r\nhello\r\n0\r\n\r\n`],
  ['a trailer that is none', `${CHUNKED}0\r\nnone\r\n\r\n`],
])('%s is not taken for HTTP, however it is cut', (_name, text) => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (cuts) => {
      expect(read(text, cuts).taken).toBe('not-http')
    }),
  )
})

describe('no more is kept than allowed', () => {
  test.each([
    ['one line without end', `${HEAD}x: ${'y'.repeat(300)}`],
    ['informational answers without end', 'HTTP/1.1 103 Early\r\nlink: x\r\n\r\n'.repeat(20)],
  ])('of a head: %s', (_name, text) => {
    expect(read(text, [], { body: 1000, head: 256 }).taken).toBe('headers-too-large')
  })

  test.each([
    ['one extension', `1;${'x'.repeat(9000)}`],
    ['many extensions', `1;${'x'.repeat(100)}\r\na\r\n`.repeat(90)],
    ['trailers', `0\r\n${'x: y\r\n'.repeat(2000)}`],
  ])('between chunks: %s', (_name, text) => {
    expect(read(CHUNKED + text, [], { body: 10_000, head: 256 }).taken).toBe('headers-too-large')
  })

  test.each([
    ['of a length', `${HEAD}content-length: 1001\r\n\r\n${'x'.repeat(1001)}`],
    ['of chunks', `${CHUNKED}${`64\r\n${'x'.repeat(100)}\r\n`.repeat(11)}`],
    ['of a body without either', `${HEAD}\r\n${'x'.repeat(1001)}`],
  ])('of a body: %s', (_name, text) => {
    expect(read(text).taken).toBe('too-large')
  })
})

test('a body without length is whole when the connection ends, and no other one is', () => {
  const open = new HttpAnswerReader(1000, 1000)
  const cut = new HttpAnswerReader(1000, 1000)

  open.take(Buffer.from(`${HEAD}\r\nhello`))
  cut.take(Buffer.from(`${HEAD}content-length: 6\r\n\r\nhello`))

  expect([open.end(), open.keepsAlive, open.body.toString()]).toEqual([true, false, 'hello'])
  expect(cut.end()).toBe(false)
})

test.each([
  ['HTTP/1.1', '', true],
  ['HTTP/1.1', 'connection: Close\r\n', false],
  ['HTTP/1.1', 'connection: x, close\r\n', false],
  ['HTTP/1.0', '', false],
  ['HTTP/1.0', 'connection: Keep-Alive\r\n', true],
])('over %s with %j another request may follow: %s', (version, header, keepsAlive) => {
  expect(read(`${version} 200 OK\r\n${header}content-length: 0\r\n\r\n`).keepsAlive).toBe(keepsAlive)
})

test('what comes behind the answer is noticed', () => {
  expect(read(`${HEAD}content-length: 5\r\n\r\nhelloHTTP/1.1`).hasExcess).toBe(true)
})

test('204 and 304 have no body, whatever their headers say', () => {
  expect(read('HTTP/1.1 204 None\r\ncontent-length: 5\r\n\r\n').taken).toBe('whole')
  expect(read('HTTP/1.1 304 Same\r\ncontent-length: 5\r\n\r\n').taken).toBe('whole')
})

test('never throws, and never gives more than came', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(HEAD, '\r\n', 'content-length: 5', 'transfer-encoding: chunked', '5\r\nhello\r\n', '0\r\n\r\n'),
  )
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat()), (pieces, cuts) => {
      const text = pieces.join('')
      expect(read(text, cuts).body.length).toBeLessThanOrEqual(text.length)
    }),
  )
})
