import { describe, expect, test } from 'vitest'
import type { Silence } from '../../src/core/incident/silence.ts'
import { SilencesView, SilenceView } from '../../src/http/wire/silences.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { Secret } from '../../src/secret.ts'
import { type Setting, type SettingOptions, setUp } from './setting.ts'

const TOKEN = 'a-token-of-the-operator'
const AUTHORISED = { authorization: `Bearer ${TOKEN}` }
const WITH_TOKEN = { token: new Secret(TOKEN) }
const HOUR = { network: 'avalanche', endpoint: 'own-1', duration_seconds: 3600, reason: 'upgrade' }

type Given = { body?: unknown; headers?: Record<string, string>; from?: string }

function post({ server }: Setting, { body = HOUR, headers = {}, from }: Given = {}) {
  return server.inject({
    method: 'POST',
    url: '/api/v1/silences',
    headers: { host: 'localhost:9780', 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    ...(from === undefined ? {} : { remoteAddress: from }),
  })
}

async function listed({ server }: Setting, headers: Record<string, string> = {}) {
  const answer = await server.inject({ url: '/api/v1/silences', headers })
  return SilencesView.strict().parse(answer.json()).silences
}

describe('a silence', () => {
  test('begins at once, is listed by its end, and is gone from the list after it', async () => {
    const setting = setUp()
    const from = setting.clock.now()

    const whole = await post(setting, { body: { network: 'ethereum', duration_seconds: 7200, reason: 'drill' } })
    const one = await post(setting)

    expect([whole.statusCode, one.statusCode]).toEqual([201, 201])
    const [first, second] = [SilenceView.strict().parse(one.json()), SilenceView.strict().parse(whole.json())]
    expect(first).toMatchObject({ network: 'avalanche', endpoint: 'own-1', reason: 'upgrade' })
    expect(Date.parse(first.from)).toBe(from)
    expect(Date.parse(first.until)).toBe(from + 3_600_000)
    expect(second.endpoint).toBeNull()
    expect(await listed(setting)).toEqual([first, second])
    await setting.clock.advance(3_600_000)
    expect(await listed(setting)).toEqual([second])
  })

  test('is ended by its id, once', async () => {
    const setting = setUp()
    const { id } = (await post(setting)).json()
    const end = () => setting.server.inject({ method: 'DELETE', url: `/api/v1/silences/${id}` })
    await setting.clock.advance(60_000)

    const ended = await end()

    expect(ended.statusCode).toBe(200)
    expect(Date.parse(ended.json().until)).toBe(setting.clock.now())
    expect(await listed(setting)).toEqual([])
    expect((await end()).statusCode).toBe(404)
  })

  test('whose beginning or end the store cannot take now is not called stored', async () => {
    const { clock, log } = setUp()
    const stored: Silence[] = []
    const store = {
      saveSilence: (silence: Silence) => void (full || stored.push(silence)),
      silences: async () => stored,
    }
    const setting = setUp({ silences: createSilences({ clock, log, store }) })
    let full = false
    const { id } = (await post(setting)).json()
    full = true
    await clock.advance(60_000)

    const begun = await post(setting, { body: { ...HOUR, endpoint: 'own-2' } })
    const ended = await setting.server.inject({ method: 'DELETE', url: `/api/v1/silences/${id}` })

    expect([begun.statusCode, ended.statusCode]).toEqual([503, 503])
    expect(begun.json().detail).toMatch(/^The store cannot be written now: the silence \w+ holds, but a restart/)
    expect(ended.json().detail).toContain('has ended, but may hold again after a restart')
    expect((await listed(setting)).map(({ endpoint }) => endpoint)).toEqual(['own-2'])
  })

  test('may not be one of thousands', async () => {
    const setting = setUp()
    for (let at = 0; at < 500; at++) expect((await post(setting)).statusCode).toBe(201)

    expect((await post(setting)).statusCode).toBe(409)
    await setting.clock.advance(3_600_000)
    expect((await post(setting)).statusCode).toBe(201)
  })

  test('has a reason on one line, without control and direction characters', async () => {
    const setting = setUp()

    const { reason } = (
      await post(setting, { body: { ...HOUR, reason: ' a\u202e b\r\n<script>\u0000\u001b[31m ' } })
    ).json()

    expect(reason).toBe('a b <script> [31m')
  })
})

describe('a bad silence', () => {
  const NAME = 'must be a name: 1 to 64 characters of a-z, 0-9 and -'
  const SECONDS = 'must be a number of seconds from 1 to 2592000 (30 days)'
  const REASON = 'must be a text of 1 to 200 characters'
  const without = (name: keyof typeof HOUR) => ({ ...HOUR, [name]: undefined })
  test.each<[string, unknown, string, string]>([
    ['no object', 'null', 'body', 'must be a JSON object'],
    ['a list', [HOUR], 'body', 'must be a JSON object'],
    ['no network', without('network'), 'network', NAME],
    ['a network that is no name', { ...HOUR, network: 'A/b' }, 'network', NAME],
    ['a network that is no text', { ...HOUR, network: ['avalanche'] }, 'network', NAME],
    ['an endpoint that is no name', { ...HOUR, endpoint: '' }, 'endpoint', NAME],
    ['no length', without('duration_seconds'), 'duration_seconds', SECONDS],
    ['a length as text', { ...HOUR, duration_seconds: '3600' }, 'duration_seconds', SECONDS],
    ['no time at all', { ...HOUR, duration_seconds: 0 }, 'duration_seconds', SECONDS],
    ['more than 30 days', { ...HOUR, duration_seconds: 2_592_001 }, 'duration_seconds', SECONDS],
    ['no reason', without('reason'), 'reason', REASON],
    ['a reason of spaces', { ...HOUR, reason: ' \u200b\n' }, 'reason', REASON],
    ['a long reason', { ...HOUR, reason: 'x'.repeat(201) }, 'reason', REASON],
    ['a field that does not exist', { ...HOUR, for: '1h' }, 'for', 'is not a field of this route'],
  ])('%s is rejected with the field', async (_what, body, parameter, detail) => {
    const setting = setUp()

    const answer = await post(setting, { body })

    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors).toEqual([{ parameter, detail }])
    expect(await listed(setting)).toEqual([])
  })

  test.each<[string, Given, number]>([
    ['a network that is not configured', { body: { ...HOUR, network: 'none' } }, 404],
    ['an endpoint that is not configured', { body: { ...HOUR, endpoint: 'none' } }, 404],
    ['broken JSON', { body: '{"network":' }, 400],
    ['no body', { body: '' }, 400],
    ['a hidden prototype', { body: '{"__proto__":{"network":"avalanche"}}' }, 400],
    ['a body that is too large', { body: { ...HOUR, reason: 'x'.repeat(20_000) } }, 413],
    ['plain text', { headers: { 'content-type': 'text/plain' } }, 415],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'network=avalanche' }, 415],
    ['a form with a file', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--' }, 415],
  ])('%s is rejected', async (_what, given, status) => {
    const setting = setUp()

    const answer = await post(setting, given)

    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(await listed(setting)).toEqual([])
  })
})

describe('who may write', () => {
  const HTTPS = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  const cases: [string, number, SettingOptions['options'], Given][] = [
    ['a program on this machine, without a token', 201, {}, {}],
    ['the page itself', 201, {}, { headers: { ...HTTPS, 'sec-fetch-site': 'same-origin' } }],
    ['the page over plain HTTP', 201, {}, { headers: { origin: 'http://localhost:9780' } }],
    [
      'the page behind a proxy that changes Host',
      201,
      WITH_TOKEN,
      { headers: { ...AUTHORISED, origin: 'https://status.example.org', 'sec-fetch-site': 'same-origin' } },
    ],
    ['a page of another site', 403, {}, { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['a page of another port or subdomain', 403, {}, { headers: { 'sec-fetch-site': 'same-site' } }],
    ['a page of another site, by an old browser', 403, {}, { headers: { origin: 'http://evil.example' } }],
    ['a page without an origin', 403, {}, { headers: { origin: 'null' } }],
    ['a page of another port, by an old browser', 403, {}, { headers: { origin: 'http://localhost:8080' } }],
    [
      'a page of another site that has the token',
      403,
      WITH_TOKEN,
      { headers: { ...AUTHORISED, 'sec-fetch-site': 'cross-site' } },
    ],
    ['a page whose name resolves to this machine', 421, {}, { headers: { host: 'evil.example' } }],
    ['another machine, without a token', 403, {}, { from: '192.0.2.7' }],
    [
      'another machine, behind a proxy on this one',
      403,
      {},
      { headers: { 'x-forwarded-for': '127.0.0.1, 192.0.2.7' } },
    ],
    [
      'another machine, behind two proxies on this one',
      403,
      {},
      { headers: { 'x-forwarded-for': '192.0.2.7, 127.0.0.1' } },
    ],
    ['another machine, by Forwarded with tabs', 403, {}, { headers: { forwarded: 'for=127.0.0.1,\tfor=192.0.2.7' } }],
    [
      'another machine, by Forwarded',
      403,
      {},
      { headers: { forwarded: 'for=127.0.0.1, proto=https;For="[2001:db8::7]:4711"' } },
    ],
    ['another machine, by X-Real-IP', 403, {}, { headers: { 'x-real-ip': '192.0.2.7' } }],
    ['a client without the token, where the listener is not on loopback', 403, { host: '0.0.0.0' }, {}],
    [
      'this machine, behind proxies that say so in every way',
      201,
      {},
      {
        headers: {
          forwarded: 'for="[::1]:4711";proto=http',
          'x-real-ip': '127.0.0.1',
          'x-forwarded-for': '::1, 127.0.0.1',
        },
      },
    ],
    ['this machine, behind a proxy on it', 201, {}, { headers: { 'x-forwarded-for': '127.0.0.1' } }],
    ['another machine, with the token', 201, WITH_TOKEN, { headers: AUTHORISED, from: '192.0.2.7' }],
    ['anyone without the token', 401, WITH_TOKEN, {}],
    ['anyone with a wrong token', 401, WITH_TOKEN, { headers: { authorization: 'Bearer wrong' } }],
  ]
  test.each(cases)('%s: %i', async (_who, status, options, given) => {
    const setting = setUp({ options: options ?? {} })

    expect((await post(setting, given)).statusCode).toBe(status)
    const isBegun = (await listed(setting, options === WITH_TOKEN ? AUTHORISED : {})).length === 1
    expect(isBegun).toBe(status === 201)
  })

  test('ending one has the same rules, and the public may not even see them', async () => {
    const setting = setUp({ options: WITH_TOKEN })
    const { id } = (await post(setting, { headers: AUTHORISED })).json()
    const end = (headers: Record<string, string>) =>
      setting.server.inject({ method: 'DELETE', url: `/api/v1/silences/${id}`, headers })

    expect((await setting.server.inject('/api/v1/silences')).statusCode).toBe(401)
    expect((await end({})).statusCode).toBe(401)
    expect((await end({ ...AUTHORISED, 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403)
    expect(await listed(setting, AUTHORISED)).toHaveLength(1)
    expect((await end(AUTHORISED)).statusCode).toBe(200)
  })

  test('a preflight of another site is not allowed', async () => {
    const { server } = setUp()
    const answer = await server.inject({
      method: 'OPTIONS',
      url: '/api/v1/silences',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    })

    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD, POST')
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })
})
