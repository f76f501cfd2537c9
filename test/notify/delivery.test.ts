import { getEventListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createHttpDelivery } from '../../src/notify/http-delivery.ts'
import { sendMail } from '../../src/notify/mail-delivery.ts'
import { Secret } from '../../src/secret.ts'
import { createAuthority } from '../nodes/certificates.ts'
import { until } from '../support/daemon.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'

const NEVER = new AbortController().signal

async function send(answer: (request: IncomingMessage, response: ServerResponse) => void, signal = NEVER) {
  const server = await serveHttp(answer)
  const http = createHttpDelivery({ clock: systemClock })
  onTestFinished(() => http.close())
  const url = new Secret(`${server.url}/hooks/path-key-123`)
  const secrets = [new Secret('routing-key-456')]
  return http.send({ url, headers: {}, body: '{"routing_key":"routing-key-456"}', secrets }, signal)
}

describe('a request to a service', () => {
  test('is sent if the service accepts it', async () => {
    expect(await send((_request, response) => response.writeHead(202).end())).toEqual({ result: 'sent' })
  })

  test('is rejected for good with the words of the service, without the keys that they repeat', async () => {
    const outcome = await send((_request, response) => {
      response.writeHead(400).end('invalid key routing-key-456 at\n/hooks/path-key-123\u202e')
    })

    expect(outcome).toEqual({
      result: 'rejected',
      error: 'answered HTTP 400: invalid key [redacted] at /[redacted]/[redacted]',
    })
  })

  test.each([
    [200, { result: 'sent' }],
    [404, { result: 'rejected', error: expect.stringContaining('answered HTTP 404: ') }],
    [503, { result: 'retried', error: expect.stringContaining('answered HTTP 503: ') }],
  ])('is settled by the status %i, however long the page after it is', async (status, expected) => {
    expect(await send((_request, response) => response.writeHead(status).end('x'.repeat(200_000)))).toMatchObject(
      expected,
    )
  })

  test.each([
    [500, {}, null],
    [302, { location: 'https://example.org' }, null],
    [408, {}, null],
    [429, { 'retry-after': '7' }, 7000],
    [503, { 'retry-after': '999999' }, 3_600_000],
  ])('is retried after %i', async (status, headers, retryAfterMs) => {
    const outcome = await send((_request, response) => response.writeHead(status, headers).end())

    expect(outcome).toMatchObject({ result: 'retried', retryAfterMs })
  })

  test('is sent to a service whose certificate the configured authority has signed, and not without it', async () => {
    const authority = createAuthority()
    const server = createHttpsServer(authority.issue({ san: 'IP:127.0.0.1' }), (_request, response) => response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const http = createHttpDelivery({ clock: systemClock })
    onTestFinished(() => {
      http.close()
      server.closeAllConnections()
      server.close()
      authority.remove()
    })
    const url = new Secret(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const request = { url, headers: {}, body: '{}' } as const

    expect(await http.send(request, NEVER)).toMatchObject({ error: expect.stringContaining('trusted authority') })
    expect(await http.send(request, NEVER, authority.ca)).toEqual({ result: 'sent' })
  })

  test('is retried if the connection is reset, and ends when the daemon stops', async () => {
    const stopping = new AbortController()

    expect(await send((request) => request.socket.destroy())).toMatchObject({ result: 'retried' })
    const hanging = send(() => stopping.abort(), stopping.signal)
    expect(await hanging).toMatchObject({ result: 'retried' })
  })
})

interface Received {
  readonly to: readonly string[]
  readonly text: string
  readonly secure: boolean
  readonly user: string | null
}

async function smtp(options: SMTPServerOptions = {}): Promise<{ readonly port: number; readonly mails: Received[] }> {
  const mails: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    onAuth(auth, _session, callback) {
      if (auth.password === 'pass word') callback(null, { user: auth.username ?? '' })
      else callback(new Error('wrong password'))
    },
    onData(stream, session, callback) {
      let text = ''
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      stream.on('end', () => {
        const user = typeof session.user === 'string' ? session.user : null
        const to = session.envelope.rcptTo.map(({ address }) => address)
        mails.push({ to, text, secure: session.secure, user })
        callback(null)
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, mails }
}

function mailTo(smtpUrl: string) {
  return {
    smtp: new Secret(smtpUrl),
    from: 'heartline@example.org',
    to: ['ops@example.org', 'oncall@example.org'],
    subject: '[CRITICAL] avalanche/own-1 is down',
    text: 'avalanche/own-1 is down\nconnection refused',
    html: '<p>avalanche/own-1 is down</p>',
    messageId: '<msg_1@example.org>',
    references: '<incident-1@example.org>',
  }
}

/** Reaches this machine, but is not one of its loopback addresses. */
const NOT_LOOPBACK = '0.0.0.0'

const mail = (of: Parameters<typeof sendMail>[0]) => sendMail(of, { ca: null, clock: systemClock, signal: NEVER })

/** A mail server that says hello and then no more than one byte a second. */
async function tarpit(): Promise<{ readonly port: number; readonly open: () => number }> {
  let sockets = 0
  const server = createTcpServer((socket) => {
    sockets++
    socket.on('close', () => sockets--)
    socket.on('error', () => undefined)
    socket.write('220-')
    const drip = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, open: () => sockets }
}

describe('a mail', () => {
  test('arrives with text, HTML, its own id, and the thread of its incident', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS', 'AUTH'] })

    const stopping = new AbortController()
    const to = mailTo(`smtp://127.0.0.1:${port}`)
    const outcome = await sendMail(to, { ca: null, clock: systemClock, signal: stopping.signal })

    expect(outcome).toEqual({ result: 'sent' })
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([])
    const [{ text } = { text: '' }] = mails
    expect(text).toContain('Message-ID: <msg_1@example.org>')
    expect(text).toContain('References: <incident-1@example.org>')
    expect(text).toMatch(/Content-Type: text\/plain[\s\S]*Content-Type: text\/html/)
    expect(text).toContain('To: ops@example.org, oncall@example.org')
  })

  test('that is part of no thread names no other mail', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS', 'AUTH'] })

    const outcome = await mail({ ...mailTo(`smtp://127.0.0.1:${port}`), references: null })

    expect(outcome).toEqual({ result: 'sent' })
    expect(mails[0]?.text).not.toMatch(/^(?:References|In-Reply-To):/im)
  })

  test('is sent with a password, whose special characters are percent-encoded in the URL', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })

    const right = await mail(mailTo(`smtp://heart%40line:pass%20word@127.0.0.1:${port}`))
    const wrong = await mail(mailTo(`smtp://heart%40line:wrong-pass@127.0.0.1:${port}`))

    expect([right.result, mails[0]?.user]).toEqual(['sent', 'heart@line'])
    expect(wrong).toMatchObject({ result: 'retried' })
    expect(JSON.stringify(wrong)).not.toMatch(/wrong-pass|heart@line/)
  })

  test('fails in the words of the server, without the login that they repeat as it was sent', async () => {
    const login = Buffer.from('\0heartline\0wrong-pass').toString('base64')
    const { port } = await smtp({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) => callback(new Error(`bad login ${login}`)),
    })

    const outcome = await mail(mailTo(`smtp://heartline:wrong-pass@127.0.0.1:${port}`))

    expect(JSON.stringify(outcome)).toContain('SMTP 535: bad login [redacted]')
  })

  test.each(['127.0.0.1', 'localhost'])(
    'is sent through a relay at %s whose STARTTLS certificate is untrusted',
    async (host) => {
      const { port, mails } = await smtp({ allowInsecureAuth: true })

      const outcomes = [
        await mail(mailTo(`smtp://${host}:${port}`)),
        await mail(mailTo(`smtp://heartline:pass%20word@${host}:${port}`)),
      ]

      expect(outcomes).toEqual([{ result: 'sent' }, { result: 'sent' }])
      expect(mails.map(({ secure, user }) => [secure, user])).toEqual([
        [true, null],
        [true, 'heartline'],
      ])
    },
  )

  test.each([
    ['STARTTLS beyond loopback', {}, `smtp://${NOT_LOOPBACK}`],
    ['STARTTLS for a password beyond loopback', {}, `smtp://heartline:pass%20word@${NOT_LOOPBACK}`],
    ['TLS from the start', { secure: true }, 'smtps://127.0.0.1'],
  ])('is not sent where %s shows an untrusted certificate', async (_what, options, url) => {
    const { port, mails } = await smtp({ allowInsecureAuth: true, ...options })

    const outcome = await mail(mailTo(`${url}:${port}`))

    expect(outcome).toMatchObject({ result: 'retried' })
    expect(mails).toEqual([])
  })

  test('is sent where the configured authority has signed the certificate of the server, and only there', async () => {
    const authority = createAuthority()
    onTestFinished(() => authority.remove())
    const { cert, key } = authority.issue({ san: 'IP:127.0.0.1' })
    const { port, mails } = await smtp({ cert, key })

    const unknown = await mail(mailTo(`smtp://${NOT_LOOPBACK}:${port}`))
    const known = await sendMail(mailTo(`smtp://127.0.0.1:${port}`), {
      ca: authority.ca,
      clock: systemClock,
      signal: NEVER,
    })

    expect(unknown).toMatchObject({ error: expect.stringContaining('not signed by a trusted authority') })
    expect([known.result, mails.map(({ secure }) => secure)]).toEqual(['sent', [true]])
  })

  test('is rejected for good where the server refuses its recipients', async () => {
    const { port } = await smtp({
      disabledCommands: ['STARTTLS'],
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('no such user'), { responseCode: 550 })),
    })

    const outcome = await mail(mailTo(`smtp://127.0.0.1:${port}`))

    expect(outcome).toMatchObject({ result: 'rejected' })
    expect(JSON.stringify(outcome)).toContain('SMTP 550')
  })

  test.each([450, 550])(
    'that the server does not take for one of its recipients (%i) is sent to the others, and says so',
    async (responseCode) => {
      const { port, mails } = await smtp({
        disabledCommands: ['STARTTLS'],
        onRcptTo: ({ address }, _session, callback) =>
          callback(address.startsWith('typo') ? Object.assign(new Error('no such user'), { responseCode }) : null),
      })

      const outcome = await mail({ ...mailTo(`smtp://127.0.0.1:${port}`), to: ['day@example.org', 'typo@example.org'] })

      expect(outcome).toEqual({ result: 'sent', missed: expect.stringMatching(/^1 of 2 recipients: .*no such user/) })
      expect(mails.map(({ to: got }) => got)).toEqual([['day@example.org']])
    },
  )

  test('cannot get a header from its subject', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS'] })

    await mail({ ...mailTo(`smtp://127.0.0.1:${port}`), subject: 'down\r\nBcc: victim@example.org' })

    expect(mails[0]?.text).not.toMatch(/^Bcc:/m)
  })

  test('ends after half a minute, however slowly the server answers, and leaves neither connection nor listener', async () => {
    const { port, open } = await tarpit()
    const clock = createFakeClock()
    const stopping = new AbortController()

    const outcome = sendMail(mailTo(`smtp://127.0.0.1:${port}`), {
      ca: null,
      clock,
      signal: stopping.signal,
    })
    await until(() => open() === 1, 'it is connected')
    await clock.advance(30_000)

    expect(await outcome).toEqual({
      result: 'retried',
      error: 'the mail server did not answer in time',
      retryAfterMs: null,
    })
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([])
    await until(() => open() === 0, 'the connection is closed')
  })

  test('ends at once when the daemon stops', async () => {
    const { port, open } = await tarpit()
    const stopping = new AbortController()

    const outcome = sendMail(mailTo(`smtp://127.0.0.1:${port}`), {
      ca: null,
      clock: createFakeClock(),
      signal: stopping.signal,
    })
    await until(() => open() === 1, 'it is connected')
    stopping.abort()

    expect(await outcome).toMatchObject({ result: 'retried' })
  })

  test('fails with the cause, without the address of the server', async () => {
    const { port } = await smtp()

    const expired = await mail(mailTo(`smtp://${NOT_LOOPBACK}:${port}`))
    const refused = await mail(mailTo('smtp://127.0.0.1:1'))
    const unknown = await mail(mailTo('smtp://no-such-host.invalid:25'))

    expect(expired).toMatchObject({ error: expect.stringContaining('its TLS certificate has expired') })
    expect(refused).toMatchObject({ error: expect.stringContaining('ECONNREFUSED') })
    expect(unknown).toMatchObject({ error: expect.stringContaining('could not be resolved') })
    expect(JSON.stringify([expired, refused, unknown])).not.toMatch(/127\.0\.0\.1|0\.0\.0\.0|no-such-host/)
  })

  test('waits for a server that is not there', async () => {
    expect(await mail(mailTo('smtp://127.0.0.1:1'))).toMatchObject({ result: 'retried' })
  })
})
