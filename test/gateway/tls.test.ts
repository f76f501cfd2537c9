import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import type { Certificate } from '../../src/gateway/request/listener.ts'
import { answeredTogether, certificate, clientHello, dialFrom } from '../support/handshakes.ts'
import { ID, open, raw, set } from './setting.ts'

const [A, B] = [certificate('a'), certificate('b')]
const nameOf = ({ cert }: Certificate) => new X509Certificate(cert).fingerprint256

async function dial(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** One request on this very connection. */
async function askOn(socket: TLSSocket): Promise<string> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
  socket.write(
    `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString().split('\r\n', 1)[0] ?? ''
}

test('a new certificate is for new connections, and those that are open go on', async () => {
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A } })
  const old = await dial(setting.port)
  expect(await askOn(old)).toBe('HTTP/1.1 200 OK')

  setting.gateway.useCertificate(B)

  const fresh = await dial(setting.port)
  expect(await askOn(old)).toBe('HTTP/1.1 200 OK')
  expect(await askOn(fresh)).toBe('HTTP/1.1 200 OK')
  expect(old.getPeerCertificate().fingerprint256).toBe(nameOf(A))
  expect(fresh.getPeerCertificate().fingerprint256).toBe(nameOf(B))
  old.destroy()
  fresh.destroy()
})

test('TLS before 1.2 is refused, also after a reload', async () => {
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A } })
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }

  await expect(dial(setting.port, old)).rejects.toThrow()
  setting.gateway.useCertificate(B)
  await expect(dial(setting.port, old)).rejects.toThrow()
  const modern = await dial(setting.port)
  expect(modern.getProtocol()).toBe('TLSv1.3')
  modern.destroy()
})

test('a plain HTTP connection is closed, and no other', async () => {
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A } })

  await expect(fetch(`http://127.0.0.1:${setting.port}/ethereum/${ID}`, { method: 'POST' })).rejects.toThrow()

  const socket = await dial(setting.port)
  expect(await askOn(socket)).toBe('HTTP/1.1 200 OK')
  socket.destroy()
})

/** A record that announces a ClientHello of 508 bytes, and its first four. */
const HALF_A_HELLO = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252])

test.each([
  ['that never begins', Buffer.alloc(0)],
  ['that stops halfway', HALF_A_HELLO],
])('a TLS handshake %s is closed after the timeout for headers', async (_what, bytes) => {
  const timeouts = { headersMs: 100, requestMs: 100, checkEveryMs: 50 }
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A, timeouts } })

  expect(await raw(setting.port, bytes)).toBe('')
})

test('an unfinished TLS handshake does not delay the stop of the gateway', async () => {
  const timeouts = { headersMs: 600_000, requestMs: 600_000, checkEveryMs: 1000 }
  const setting = await open({ listen: { host: '127.0.0.1', port: 0, tls: A, timeouts } })
  const socket = connect(setting.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(HALF_A_HELLO)
  const serving = await dial(setting.port)
  const closed = once(socket.resume(), 'close')

  await setting.close()

  await closed
  serving.destroy()
})

test('a connection that is closed before its handshake is gone at once', async () => {
  const timeouts = { headersMs: 600_000, requestMs: 600_000, checkEveryMs: 1000 }
  const setting = await open({ listen: { host: '127.0.0.1', port: 0, tls: A, timeouts } })
  const socket = connect({ port: setting.port, host: '127.0.0.1', allowHalfOpen: true }).resume()
  await once(socket, 'connect')

  socket.end(HALF_A_HELLO)
  await once(socket, 'end')

  await setting.close()
})

test('handshakes that begin together are answered one by one', async () => {
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A } })

  expect(await answeredTogether(setting.port, 100)).toBeLessThan(10)
})

test('a handshake waits for none of the many of another address', async () => {
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A } })
  const hello = await clientHello()
  const addresses = [...new Array<string>(200).fill('127.0.0.1'), '127.0.0.2']
  const flood = await dialFrom(setting.port, addresses)
  const other = flood.pop()!
  let answered = 0
  for (const socket of flood) socket.once('data', () => answered++)

  for (const socket of flood) socket.write(hello)
  other.write(hello)
  await once(other, 'data')

  expect(answered).toBeLessThan(100)
  for (const socket of [...flood, other]) socket.destroy()
})

test('keeps 512 unfinished handshakes, and serves a caller', async () => {
  const timeouts = { headersMs: 600_000, requestMs: 600_000, checkEveryMs: 1000 }
  const setting = await set({ listen: { host: '127.0.0.1', port: 0, tls: A, timeouts } })
  const hello = await clientHello()
  const flood = await dialFrom(setting.port, new Array<string>(600).fill('127.0.0.1'))
  let closed = 0
  for (const socket of flood) socket.resume().once('close', () => closed++)

  for (const socket of flood) socket.write(hello)

  await expect.poll(() => closed, { timeout: 20_000 }).toBe(88)
  const caller = await dial(setting.port)
  expect(await askOn(caller)).toBe('HTTP/1.1 200 OK')
  for (const socket of [...flood, caller]) socket.destroy()
})
