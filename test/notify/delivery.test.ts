import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createHttpDelivery } from '../../src/notify/http-delivery.ts'
import { sendMail } from '../../src/notify/mail-delivery.ts'
import { Secret } from '../../src/secret.ts'

const NEVER = new AbortController().signal

async function send(answer: (request: IncomingMessage, response: ServerResponse) => void, signal = NEVER) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const http = createHttpDelivery({ clock: systemClock })
  onTestFinished(() => {
    http.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = new Secret(`http://127.0.0.1:${port}/hooks/path-key-123`)
  const secrets = [new Secret('routing-key-456')]
  return http.send({ kind: 'http', url, headers: {}, body: '{"routing_key":"routing-key-456"}', secrets }, signal)
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
    [500, {}, null],
    [302, { location: 'https://example.org' }, null],
    [408, {}, null],
    [429, { 'retry-after': '7' }, 7000],
    [503, { 'retry-after': '999999' }, 3_600_000],
  ])('is retried after %i', async (status, headers, retryAfterMs) => {
    const outcome = await send((_request, response) => response.writeHead(status, headers).end())

    expect(outcome).toMatchObject({ result: 'retried', retryAfterMs })
  })

  test('is retried if the connection is reset, and ends when the daemon stops', async () => {
    const stopping = new AbortController()

    expect(await send((request) => request.socket.destroy())).toMatchObject({ result: 'retried' })
    const hanging = send(() => stopping.abort(), stopping.signal)
    expect(await hanging).toMatchObject({ result: 'retried' })
  })
})

interface Received {
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
        mails.push({ text, secure: session.secure, user })
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

describe('a mail', () => {
  test('arrives with text, HTML, its own id, and the thread of its incident', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS', 'AUTH'] })

    const outcome = await sendMail(mailTo(`smtp://127.0.0.1:${port}`))

    expect(outcome).toEqual({ result: 'sent' })
    const [{ text } = { text: '' }] = mails
    expect(text).toContain('Message-ID: <msg_1@example.org>')
    expect(text).toContain('References: <incident-1@example.org>')
    expect(text).toMatch(/Content-Type: text\/plain[\s\S]*Content-Type: text\/html/)
    expect(text).toContain('To: ops@example.org, oncall@example.org')
  })

  test('is sent with a password, whose special characters are percent-encoded in the URL', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })

    const right = await sendMail(mailTo(`smtp://heart%40line:pass%20word@127.0.0.1:${port}`))
    const wrong = await sendMail(mailTo(`smtp://heart%40line:wrong-pass@127.0.0.1:${port}`))

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

    const outcome = await sendMail(mailTo(`smtp://heartline:wrong-pass@127.0.0.1:${port}`))

    expect(JSON.stringify(outcome)).toContain('SMTP 535: bad login [redacted]')
  })

  test('is not sent where STARTTLS shows a certificate without a trusted signature', async () => {
    const { port, mails } = await smtp()

    const outcome = await sendMail(mailTo(`smtp://127.0.0.1:${port}`))

    expect(outcome).toMatchObject({ result: 'retried' })
    expect(mails).toEqual([])
  })

  test('is rejected for good where the server refuses its recipients', async () => {
    const { port } = await smtp({
      disabledCommands: ['STARTTLS'],
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('no such user'), { responseCode: 550 })),
    })

    const outcome = await sendMail(mailTo(`smtp://127.0.0.1:${port}`))

    expect(outcome).toMatchObject({ result: 'rejected' })
    expect(JSON.stringify(outcome)).toContain('SMTP 550')
  })

  test('cannot get a header from its subject', async () => {
    const { port, mails } = await smtp({ disabledCommands: ['STARTTLS'] })

    await sendMail({ ...mailTo(`smtp://127.0.0.1:${port}`), subject: 'down\r\nBcc: victim@example.org' })

    expect(mails[0]?.text).not.toMatch(/^Bcc:/m)
  })

  test('waits for a server that is not there', async () => {
    expect(await sendMail(mailTo('smtp://127.0.0.1:1'))).toMatchObject({ result: 'retried' })
  })
})
