import { request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { ProblemView } from '../../src/http/wire/common.ts'
import { Secret } from '../../src/secret.ts'
import { type Setting, type SettingOptions, setUp } from './setting.ts'

const open: Setting[] = []
afterEach(async () => {
  for (const { server } of open.splice(0)) await server.close()
})

async function listening(options?: SettingOptions): Promise<number> {
  const setting = setUp(options)
  open.push(setting)
  return (await setting.server.listen()).port
}

function ask(port: number, host: string, path = '/'): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers: { host }, agent: false }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })
}

const LAST = 'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

/** The statuses of all answers on a connection on which `LAST` follows these lines. */
function askRaw(port: number, ...lines: string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let answers = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n${LAST}`))
    socket.on('error', reject)
    socket.setEncoding('latin1').on('data', (text: string) => (answers += text))
    socket.once('close', () => resolve(answers.match(/(?<=^HTTP\/1\.1 )\d+/gm) ?? []))
  })
}

describe('without a token', () => {
  test.each([
    'localhost',
    'LOCALHOST:9780',
    'heartline.localhost.',
    '127.0.0.1:9780',
    '127.8.9.1',
    '[::1]:9780',
    'heartline.example.org:443',
    'HEARTLINE.example.org.',
  ])('%s is answered', async (host) => {
    const port = await listening({ options: { hosts: ['heartline.example.org'] } })

    expect((await ask(port, host)).status).toBe(200)
  })

  test.each([
    'attacker.example',
    'attacker.example:9780',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    'xheartline.example.org',
    '203.0.113.5',
    '[2001:db8::1]:80',
    '[::1',
    '[::1].attacker.example',
    'localhost:80@attacker.example',
  ])('%s is misdirected, on every route', async (host) => {
    const port = await listening({ options: { hosts: ['heartline.example.org'] } })

    for (const path of ['/', '/api/v1/status', '/metrics', '/assets/style.css', '/-/healthy', '/nothing']) {
      const { status, body } = await ask(port, host, path)
      expect(status, path).toBe(421)
      expect(ProblemView.strict().parse(JSON.parse(body)).title).toBe('Misdirected request')
      expect(body).not.toContain('own-1')
    }
  })

  test('a request line with a host of its own is misdirected', async () => {
    const port = await listening()

    expect((await askRaw(port, 'GET http://attacker.example/ HTTP/1.1', 'Host: localhost'))[0]).toBe('421')
    expect((await askRaw(port, 'GET /-/healthy HTTP/1.1', 'Host: localhost'))[0]).toBe('200')
  })

  test('an address of this listener is answered, though it is bound to all', async () => {
    const port = await listening({ options: { host: '0.0.0.0' } })

    expect((await ask(port, `127.0.0.1:${port}`)).status).toBe(200)
    expect((await ask(port, 'other.example')).status).toBe(421)
  })
})

test('with a token every name is answered', async () => {
  const port = await listening({ options: { token: new Secret('a-token-of-the-operator') } })

  expect((await ask(port, 'status.example.org')).status).toBe(200)
})

const TOKEN = 'a-token-of-the-operator'
const RIGHT = `Authorization: Bearer ${TOKEN}`
const METRICS = 'GET /metrics HTTP/1.1'

test.each([
  ['401', METRICS],
  ['401', 'HEAD /metrics HTTP/1.1'],
  ['401', 'GET /%6detrics HTTP/1.1'],
  ['401', 'HEAD /metric%73 HTTP/1.1'],
  ['401', 'GET http://localhost/metrics HTTP/1.1'],
  ['401', 'GET http://localhost/%6Detrics HTTP/1.1'],
  ['401', `GET /metrics?token=${TOKEN} HTTP/1.1`],
  ['401', METRICS, `Authorization: ${TOKEN}`],
  ['401', METRICS, `Authorization: Basic ${TOKEN}`],
  ['401', METRICS, `Authorization: Bearer Bearer ${TOKEN}`],
  ['401', METRICS, 'Authorization: Bearer wrong', RIGHT],
  ['401', METRICS, `Authorization: Bearer wrong, Bearer ${TOKEN}`],
  ['401', METRICS, `Proxy-${RIGHT}`],
  ['404', 'GET /METRICS HTTP/1.1'],
  ['404', 'GET //metrics HTTP/1.1'],
  ['404', 'GET /x/../metrics HTTP/1.1'],
  ['404', 'GET /%2fmetrics HTTP/1.1'],
  ['404', 'GET /metrics%00 HTTP/1.1'],
  ['200', METRICS, RIGHT],
  ['200', 'HEAD /%6detrics HTTP/1.1', RIGHT],
])('with a token, the metrics need it in every spelling: %s for %s %s %s', async (status, ...lines) => {
  const port = await listening({ options: { token: new Secret(TOKEN) } })

  expect((await askRaw(port, ...lines, 'Host: localhost'))[0]).toBe(status)
})

const POST = 'POST /api/v1/silences HTTP/1.1'

describe.each([null, new Secret('a-token-of-the-operator')])('with the token %s', (token) => {
  test.each([
    ['two hosts', 'GET / HTTP/1.1', 'Host: localhost', 'hOST: attacker.example'],
    ['two equal hosts', 'GET / HTTP/1.1', 'Host: localhost', 'Host: localhost'],
    ['another coding', POST, 'Host: localhost', 'Transfer-Encoding: gzip, chunked', '', '0'],
    ['chunks in HTTP/1.0', 'POST / HTTP/1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked', '', '0'],
    ['200 headers', 'GET / HTTP/1.1', 'Host: localhost', ...Array.from({ length: 200 }, (_, n) => `x-${n}: y`)],
  ])('a request that a proxy could read differently ends its connection: %s', async (_, ...lines) => {
    expect(await askRaw(await listening({ options: { token } }), ...lines)).toEqual(['400'])
  })
})

test('what follows such a request in the same packet is not executed', async () => {
  let probes = 0
  const inspect = async () => {
    probes++
    return { kind: 'no-place' } as const
  }
  const setting = setUp({ inspect })
  open.push(setting)
  const { port } = await setting.server.listen()
  const probe = 'GET /probe?target=avalanche/own-1 HTTP/1.1'

  await askRaw(port, 'GET / HTTP/1.1', 'Host: localhost', 'Host: localhost', '', probe, 'Host: localhost')

  expect(probes).toBe(0)
})

test.each([
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'same-site' }, 403],
  [{ 'sec-fetch-site': 'same-origin' }, 503],
  [{ 'sec-fetch-site': 'none' }, 503],
  [{ origin: 'http://attacker.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ origin: 'http://localhost:9780', host: 'localhost:9780' }, 503],
  [{}, 503],
])('a probe that a browser sends with %o gets %i', async (headers, status) => {
  let probes = 0
  const { server } = setUp({
    inspect: async () => {
      probes++
      return { kind: 'no-place' }
    },
  })

  const answer = await server.inject({ url: '/probe?target=avalanche/own-1', headers })

  expect([answer.statusCode, probes]).toEqual([status, status === 403 ? 0 : 1])
})
