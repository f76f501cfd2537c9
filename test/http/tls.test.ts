import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import type { Certificate } from '../../src/http/server.ts'
import { requirePackage } from '../support/system-package.ts'
import { setUp } from './setting.ts'

test.runIf(requirePackage('openssl', 'openssl'))(
  'HTTPS serves, and takes a new certificate without a restart',
  async () => {
    const { server } = setUp({ options: { tls: certificateFor('first.example') } })
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

function certificateFor(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync(
    'openssl',
    ['req', '-x509', '-nodes', '-days', '1', ...curve, '-subj', `/CN=${name}`, '-keyout', key, '-out', cert],
    { stdio: 'ignore' },
  )
  const certificate = { key: readFileSync(key), cert: readFileSync(cert) }
  rmSync(folder, { recursive: true })
  return certificate
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
