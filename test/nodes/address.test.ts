import { expect, test } from 'vitest'
import { addressOf } from './support.ts'

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

  expect(addressOf('http://us%3Aer%40:p%20w@node').getHeaders).toContain(basic)
  expect(addressOf('http://user:pw@node', { headers: { Authorization: 'Bearer x' } }).getHeaders).toEqual(
    expect.arrayContaining(['authorization', 'Bearer x']),
  )
})

test('a percent sign in a password that begins no code is sent as it stands', () => {
  const basic = `Basic ${Buffer.from('user:100%').toString('base64')}`

  expect(addressOf('http://user:100%@node').getHeaders).toContain(basic)
})

test('a configured header replaces ours of the same name, whatever its case', () => {
  const { getHeaders, postHeaders } = addressOf('http://node', { headers: { ACCEPT: '*/*', 'Content-Type': 'x/y' } })

  expect(getHeaders.filter((part) => part === 'accept')).toHaveLength(1)
  expect(getHeaders).toContain('*/*')
  expect(postHeaders[postHeaders.indexOf('content-type') + 1]).toBe('x/y')
})
