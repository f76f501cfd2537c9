import { expect, test } from 'vitest'
import { addressOf } from './support.ts'

function headersOf(...of: Parameters<typeof addressOf>): readonly string[] {
  return linesOf(addressOf(...of).headers.GET)
}

function linesOf(headers: readonly string[]): string[] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []))
}

test.each([
  ['http://node:8545', '/', '/'],
  ['http://node:8545/', '/', '/'],
  ['https://node/v3/KEY', '/', '/v3/KEY'],
  ['https://node/v3/KEY/', '/', '/v3/KEY/'],
  ['https://node/v3/KEY/', '/ext/health', '/v3/KEY/ext/health'],
  ['http://node:9650', '/ext/bc/C/rpc', '/ext/bc/C/rpc'],
  ['https://node/rpc?key=KEY', '/', '/rpc?key=KEY'],
  ['https://node/a b', '/', '/a%20b'],
])('%s and %s make the path %s', (url, path, whole) => {
  expect(addressOf(url).pathOf(path)).toBe(whole)
})

test('a user and password in the URL are sent as such, unless a header says otherwise', () => {
  const basic = `Basic ${Buffer.from('us:er@:p w').toString('base64')}`

  expect(headersOf('http://us%3Aer%40:p%20w@node')).toContain(`authorization: ${basic}`)
  const other = headersOf('http://user:pw@node', { headers: { Authorization: 'Bearer x' } })
  expect(other.filter((line) => line.startsWith('authorization'))).toEqual(['authorization: Bearer x'])
})

test('a percent sign in a password that begins no code is sent as it stands', () => {
  const basic = `Basic ${Buffer.from('user:100%').toString('base64')}`

  expect(headersOf('http://user:100%@node')).toContain(`authorization: ${basic}`)
})

test('a configured header replaces ours of the same name, whatever its case', () => {
  const address = addressOf('http://node', { headers: { ACCEPT: '*/*', 'Content-Type': 'x/y', Host: 'other' } })

  const lines = linesOf(address.headers.POST)

  expect(lines.filter((line) => /^(?:accept|content-type|host):/.test(line)).sort()).toEqual([
    'accept: */*',
    'content-type: x/y',
    'host: other',
  ])
})

test('a path that would end the request line is a bug, and is not sent', () => {
  expect(() => addressOf('http://node').pathOf('/a HTTP/1.1\r\nx: y')).toThrow('visible ASCII')
})
