import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Certificate } from '../../src/gateway/request/listener.ts'
import { answeredTogether, certificate } from '../support/handshakes.ts'
import { requirePackage } from '../support/system-package.ts'
import { setUp } from './setting.ts'

const A = certificate('a')

test.runIf(requirePackage('openssl', 'openssl'))(
  'HTTPS serves, and takes a new certificate without a restart',
  async () => {
    const { server } = setUp({ options: { tls: certificateFor('first.example') }, realClock: systemClock })
    const { port } = await server.listen()

    try {
      expect(await ask(port)).toEqual([200, 'first.example'])
      server.useCertificate(certificateFor('second.example'))
      expect(await ask(port)).toEqual([200, 'second.example'])
    } finally {
      await server.close()
    }
  },
)

test('TLS before 1.2 is refused', async () => {
  const { server } = setUp({ options: { tls: A }, realClock: systemClock })
  const { port } = await server.listen()
  const dialWith = async (options: object): Promise<string | null> => {
    const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    const protocol = socket.getProtocol()
    socket.destroy()
    return protocol
  }

  await expect(
    dialWith({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  ).rejects.toThrow()
  expect(await dialWith({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2')
  await server.close()
})

test('unfinished TLS handshakes are closed after the timeout for headers, and delay no stop', async () => {
  const timeouts = { headersMs: 100, requestMs: 100, checkEveryMs: 50 }
  const patient = { headersMs: 60_000, requestMs: 60_000, checkEveryMs: 1000 }
  const { server } = setUp({ options: { tls: A, timeouts }, realClock: systemClock })
  const stopped = setUp({ options: { tls: A, timeouts: patient }, realClock: systemClock })
  const { port } = await server.listen()

  // A record that announces a ClientHello of 508 bytes, and its first four.
  const halfOpen = await dial(port, Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252]))
  const silent = await dial(port, Buffer.alloc(0))
  await Promise.all([once(halfOpen, 'close'), once(silent, 'close')])
  await server.close()

  const left = await dial((await stopped.server.listen()).port, Buffer.alloc(0))
  const closed = once(left, 'close')
  await stopped.server.close()
  await closed
})

test('TLS handshakes that begin together are answered one by one', async () => {
  const { server } = setUp({ options: { tls: A }, realClock: systemClock })
  const { port } = await server.listen()

  expect(await answeredTogether(port, 100)).toBeLessThan(10)

  await server.close()
})

async function dial(port: number, bytes: Buffer): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  socket.write(bytes)
  return socket
}

function certificateFor(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync(
    'openssl',
    ['req', '-x509', '-nodes', '-days', '1', ...curve, '-subj', `/CN=${name}`, '-keyout', key, '-out', cert],
    { stdio: 'ignore' },
  )
  const made = { key: readFileSync(key), cert: readFileSync(cert) }
  rmSync(folder, { recursive: true })
  return made
}

/** The status, and the name in the certificate. */
function ask(port: number): Promise<[number | undefined, string | undefined]> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path: '/-/healthy', rejectUnauthorized: false, agent: false }
    get(options, (answer) => {
      const name = (answer.socket as TLSSocket).getPeerCertificate().subject.CN
      answer.resume().on('end', () => resolve([answer.statusCode, name]))
    }).on('error', reject)
  })
}
