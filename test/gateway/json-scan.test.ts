import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  MALFORMED,
  readString,
  scanObject,
  skipBlank,
  skipValue,
  TOO_DEEP,
  TWICE,
} from '../../src/gateway/json-scan.ts'
import { openScan, type Scan } from '../../src/gateway/json-text.ts'

/** Whether the whole text is one value, as the scanner sees it. */
function accepts(text: string, maxDepth = 64): boolean {
  const scan = openScan(Buffer.from(text))
  const end = skipValue(scan, skipBlank(scan, 0), maxDepth)
  return end >= 0 && skipBlank(scan, end) === scan.length
}

/** Knows the last byte that was read of it. */
function watchedScan(text: string): { scan: Scan; furthest: () => number } {
  const scan = openScan(Buffer.from(text))
  let furthest = 0
  const bytes = new Proxy(scan.bytes, {
    get(target, key) {
      furthest = Math.max(furthest, Number(key))
      return Reflect.get(target, key)
    },
  })
  return { scan: { ...scan, bytes }, furthest: () => furthest }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Pieces of valid and invalid JSON texts. */
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  '\\u',
  '00e9',
  '"a"',
  '"\\u0041"',
  'true',
  'false',
  'null',
  'nul',
  '0',
  '-',
  '1',
  '.5',
  'e',
  'E+2',
  '-0',
  ' ',
  '\n',
  '\t',
  '\r',
  '\f',
  '\u0000',
  '\u001f',
  '\u007f',
  '\u2028',
  '\ufeff',
  'é',
  '😀',
  '/*',
  "'",
]

const soup = fc.string({ unit: fc.constantFrom(...PIECES), maxLength: 14 })
/** Any JSON text, spaced in any way, after up to three bytes were cut out, put in or changed. */
const nearlyJson = fc
  .tuple(
    fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }),
    fc.constantFrom(undefined, 1, '\t', '\r'),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom('', ...PIECES), fc.nat(2)), { maxLength: 3 }),
  )
  .map(([value, space, edits]) =>
    edits.reduce(
      (text, [where, piece, removed]) => {
        const at = where % (text.length + 1)
        return text.slice(0, at) + piece + text.slice(at + removed)
      },
      JSON.stringify(value, null, space),
    ),
  )
  // A lone surrogate has no UTF-8 form.
  .filter((text) => Buffer.from(text).toString() === text)

describe('the scanner', () => {
  test('accepts every text that JSON.parse accepts, and no other', () => {
    fc.assert(
      fc.property(fc.oneof(soup, nearlyJson), (text) => {
        expect(accepts(text)).toBe(parses(text))
      }),
      { numRuns: 10_000 },
    )
  })

  test('says so of every place in a string where a byte that ends or spoils it can be', () => {
    for (let before = 0; before < 12; before++) {
      for (let after = 0; after < 12; after++) {
        for (const odd of [
          '"',
          '\\',
          '\n',
          '\u0000',
          '\u001f',
          '\u0020',
          '\u007f',
          '!',
          '#',
          '[',
          ']',
          '\u0080',
          'ÿ',
          '\uffff',
          '\\"',
          '\\u12aF',
          '\\u12g4',
          '\\x',
        ]) {
          const text = `"${'a'.repeat(before)}${odd}${'b'.repeat(after)}"`
          expect([text, accepts(text)]).toEqual([text, parses(text)])
        }
      }
    }
  })

  test.each(['0', '-0', '1.0e2', '1E+2', '1e-7', '9007199254740993', '-1.5', `1${'0'.repeat(400)}`])(
    'takes the number %s',
    (text) => {
      expect(accepts(text)).toBe(true)
    },
  )

  test.each([
    '',
    ' ',
    '-',
    '01',
    '+1',
    '.5',
    '1.',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'Infinity',
    '-Infinity',
    '1 2',
    '１',
    'True',
    'nulll',
    "'a'",
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '{"a"}',
    '[1',
    '"',
    '"\\',
    '"\\u00',
    '\ufeff1',
    '//',
    '1//',
  ])('takes no %j', (text) => {
    expect(accepts(text)).toBe(false)
  })

  test('counts levels, and stops reading where they are too many', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

    expect(accepts(nested(64))).toBe(true)
    expect(accepts(`{"a":${nested(63)}}`)).toBe(true)
    expect(skipValue(openScan(Buffer.from(nested(65))), 0, 64)).toBe(TOO_DEEP)
    for (const opening of ['[', '{"a":']) {
      const { scan, furthest } = watchedScan(opening.repeat(100_000))
      expect(skipValue(scan, 0, 64)).toBe(TOO_DEEP)
      expect(furthest()).toBeLessThan(66 * opening.length)
    }
    const { scan, furthest } = watchedScan(`{"a":${'['.repeat(100_000)}`)
    expect(scanObject(scan, 0, [Buffer.from('id')], new Int32Array(3), 64)).toBe(TOO_DEEP)
    expect(furthest()).toBeLessThan(100)
  })

  test('many brackets beside each other are no depth', () => {
    expect(accepts(`[${Array.from({ length: 1000 }, () => '[{}]').join(',')}]`)).toBe(true)
  })

  test('what the text before left in memory does not show through', () => {
    openScan(Buffer.from(`"${'x'.repeat(1000)}"`))

    expect(accepts('"x')).toBe(false)
    expect(accepts('1')).toBe(true)
    expect(accepts('')).toBe(false)
  })

  test('texts around and beyond the size of the kept memory are read alike', () => {
    for (const length of [65_000, 65_530, 65_531, 65_532, 65_533, 65_534, 65_535, 65_536, 65_537, 1_000_000]) {
      expect(accepts(`"${'x'.repeat(length)}"`)).toBe(true)
      expect(accepts(`"${'x'.repeat(length)}`)).toBe(false)
      expect(accepts(`"${'x'.repeat(length)}\n"`)).toBe(false)
    }
  })
})

const NAMES = [Buffer.from('id'), Buffer.from('method')]

/** The texts of the members `id` and `method`, and the number of others. */
function membersOf(text: string): (string | number | null)[] {
  const scan = openScan(Buffer.from(text))
  const spans = new Int32Array(5)
  const end = scanObject(scan, 0, NAMES, spans, 64)
  if (end < 0) return [end]
  const of = (at: number) => {
    const start = spans[at] as number
    return start > 0 ? scan.bytes.toString('utf8', start, spans[at + 1]) : start === 0 ? null : start
  }
  return [of(0), of(2), spans[4] as number]
}

describe('the members of an object', () => {
  test('are found where they are, whatever is around them', () => {
    expect(membersOf('{}')).toEqual([null, null, 0])
    expect(membersOf('{ "x" : {"id":9} , "id" : 1.0e2 ,"method":"ключ" }')).toEqual(['1.0e2', '"ключ"', 1])
    expect(membersOf('{"ids":1,"i":2,"ID":3,"":4,"i\\"d":5,"idé":6}')).toEqual([null, null, 6])
    expect(membersOf('{"__proto__":{"id":1},"constructor":2}')).toEqual([null, null, 2])
  })

  test('are found under escaped spellings of their names', () => {
    expect(membersOf('{"\\u0069d":1,"me\\u0074hod":2}')).toEqual(['1', '2', 0])
    expect(membersOf('{"\\u0069\\u0064\\u0000":1}')).toEqual([null, null, 1])
  })

  test('that are duplicated are reported, also when spelled in two ways', () => {
    expect(membersOf('{"id":1,"id":2}')).toEqual([TWICE, null, 0])
    expect(membersOf('{"id":1,"\\u0069d":1}')).toEqual([TWICE, null, 0])
    expect(membersOf('{"id":1,"id":2,"id":3,"method":4}')).toEqual([TWICE, '4', 0])
  })

  test.each([
    '{',
    '{"id"',
    '{"id":',
    '{"id":1',
    '{"id":1,',
    '{"id":1,}',
    '{,}',
    '{"id" 1}',
    '{"id":1 "method":2}',
    '{1:2}',
    '{"id":01}',
  ])('are not read from %s', (text) => {
    expect(membersOf(text)).toEqual([MALFORMED])
  })

  test('are the bytes that JSON.stringify wrote, for any object', () => {
    const member = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(member, member, fc.dictionary(fc.string(), member), (id, method, others) => {
        const { id: _id, method: _method, ...rest } = others
        const text = JSON.stringify({ ...rest, id, method })

        expect(membersOf(text)).toEqual([JSON.stringify(id), JSON.stringify(method), Object.keys(rest).length])
      }),
    )
  })
})

test('a string is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '\\n', '\\u00e9', '\\ud83d\\ude00', 'é', '😀', '\\\\', '\\"', '/') }),
      (inside) => {
        const bytes = Buffer.from(`"${inside}"`)

        expect(readString(bytes, 0, bytes.length)).toBe(JSON.parse(bytes.toString()))
      },
    ),
  )
})

test('a string ends where it ends, wherever it begins, whatever is in it, and whatever was read before it', () => {
  const odd = ['"', '\\', '\u0000', '\u001f', '\\"', '\\u00zz', 'é', 'A', ' ', '']
  for (let start = 0; start < 4; start++) {
    for (let length = 0; length < 70; length++) {
      for (const one of odd) {
        for (const at of [0, length >> 1, Math.max(0, length - 1), length]) {
          const inside = 'a'.repeat(at) + one + '7'.repeat(length - at)
          for (const text of [`${' '.repeat(start)}"${inside}"`, `${' '.repeat(start)}"${inside}`]) {
            // What a longer answer left behind must not be taken for the rest of this one.
            openScan(Buffer.alloc(200, 'f"'))

            expect(accepts(text)).toBe(parses(text))
          }
        }
      }
    }
  }
})

test('a text may fill its memory to the last byte', () => {
  for (let length = 65_500; length < 65_560; length++) {
    expect(accepts(`"${'f'.repeat(length)}"`)).toBe(true)
    expect(accepts(`"${'f'.repeat(length)}`)).toBe(false)
  }
})
