import { gzipSync } from 'node:zlib'

/** What a hostile node writes for one request: pieces of bytes, one after the other, and how it ends. */
export interface HostileResponse {
  readonly pieces: readonly Buffer[]
  readonly ending: 'keep' | 'end' | 'reset'
}

/** The response of one seed to the request with this id: a valid one, damaged in a few places. `hash` marks it as the answer to this request. */
export function hostileResponse(seed: number, id: string, hash: string): HostileResponse {
  const random = randomOf(seed)
  let bytes = pick(random, VALID)(blockOf(id, hash))
  for (let damages = below(random, 4); damages > 0; damages--) bytes = pick(random, DAMAGES)(bytes, random)
  if (random() < 0.02) bytes = Buffer.concat([bytes, Buffer.alloc(1_200_000, 'x')])
  return { pieces: cut(bytes, random), ending: pick(random, ['keep', 'keep', 'keep', 'end', 'end', 'reset'] as const) }
}

export type Random = () => number

/** Mulberry32: the same numbers from the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function blockOf(id: string, hash: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"number":"0x10","hash":"${hash}","parentHash":"${hash}","timestamp":"0x6921"}}`
}

export const below = (random: Random, limit: number) => Math.floor(random() * limit)
export const pick = <T>(random: Random, of: readonly T[]): T => of[below(random, of.length)] as T

const withHead = (head: string, body: string | Buffer) =>
  Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)])
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

const VALID: readonly ((body: string) => Buffer)[] = [
  (body) => withHead(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`, body),
  (body) => withHead(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`, body),
  (body) => withHead(`HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: ${body.length}\r\n\r\n`, body),
  (body) => withHead('HTTP/1.1 200 OK\r\n\r\n', body),
  (body) => withHead('HTTP/1.0 200 OK\r\n\r\n', body),
  (body) => withHead('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', chunk(body) + chunk('')),
  (body) =>
    withHead(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x\r\n\r\n',
      `${Array.from(body, (character) => chunk(character)).join('')}0;last\r\nx: y\r\n\r\n`,
    ),
  (body) =>
    withHead(
      'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3),
      `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    ),
  (body) => withHead('HTTP/1.1 204 No Content\r\n\r\n', body),
  (body) => withHead(`HTTP/1.1 500 Oops\r\nkeep-alive: timeout=1\r\ncontent-length: ${body.length}\r\n\r\n`, body),
  (body) => {
    const packed = gzipSync(body)
    return withHead(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`, packed)
  },
]

/** What parsers disagree about. */
const FRAGMENTS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  '\r\n\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '-1\r\n',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
  'content-length: 0\r\n',
  'content-length: 99999999\r\n',
  'content-length: 5, 5\r\n',
  'transfer-encoding: chunked\r\n',
  'transfer-encoding: gzip, chunked\r\n',
  'connection: close\r\n',
  'connection: keep-alive\r\n',
  'keep-alive: timeout=0\r\n',
  'content-encoding: br\r\n',
  'x: y\r\n folded\r\n',
  'POST / HTTP/1.1\r\n',
  '\x16\x03\x01',
]

type Damage = (bytes: Buffer, random: Random) => Buffer

const splice = (bytes: Buffer, at: number, removed: number, added: Buffer) =>
  Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)])

/** Most damage belongs to the head and to the ends of lines. */
const placeIn = (bytes: Buffer, random: Random): number => {
  const lineEnd = bytes.indexOf('\r\n', below(random, bytes.length))
  if (random() < 0.5 && lineEnd !== -1) return lineEnd + 2
  return below(random, random() < 0.5 ? Math.min(100, bytes.length) : bytes.length)
}

const DAMAGES: readonly Damage[] = [
  (bytes, random) => splice(bytes, placeIn(bytes, random), 1, Buffer.of(below(random, 256))),
  (bytes, random) => splice(bytes, placeIn(bytes, random), 1 + below(random, 20), Buffer.alloc(0)),
  (bytes, random) => bytes.subarray(0, placeIn(bytes, random)),
  (bytes, random) => splice(bytes, placeIn(bytes, random), 0, Buffer.from(pick(random, FRAGMENTS), 'latin1')),
  (bytes, random) => splice(bytes, placeIn(bytes, random), 0, Buffer.from(pick(random, FRAGMENTS), 'latin1')),
  (bytes, random) => {
    const from = below(random, bytes.length)
    return splice(bytes, placeIn(bytes, random), 0, bytes.subarray(from, from + below(random, 200)))
  },
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes, random) => Buffer.concat([Buffer.from(pick(random, FRAGMENTS), 'latin1'), bytes]),
  (bytes, random) => Buffer.concat([bytes, Buffer.from(pick(random, FRAGMENTS), 'latin1').subarray(0, 30)]),
]

function cut(bytes: Buffer, random: Random): readonly Buffer[] {
  const count = random() < 0.5 ? 1 : 1 + below(random, 6)
  const cuts = Array.from({ length: count - 1 }, () => below(random, bytes.length + 1)).toSorted((a, b) => a - b)
  return [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length))
}
