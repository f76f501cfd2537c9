import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Authority {
  readonly ca: string
  issue(options: { readonly san: string; readonly from?: string; readonly until?: string }): Certificate
  readonly selfSigned: Certificate
  remove(): void
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const CONFIG = `
[ca]
default_ca = authority
[authority]
new_certs_dir = .
database = index.txt
serial = serial
default_md = sha256
policy = policy
x509_extensions = extensions
unique_subject = no
[policy]
commonName = supplied
[extensions]
subjectAltName = \${ENV::SAN}
`

/** A certificate authority in a temporary folder, by openssl, which lets us sign for any time. */
export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-tls-'))
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const openssl = (args: readonly string[], san = 'IP:127.0.0.1') =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe', env: { ...process.env, SAN: san } })

  writeFileSync(join(folder, 'ca.cnf'), CONFIG)
  writeFileSync(join(folder, 'index.txt'), '')
  writeFileSync(join(folder, 'serial'), '01\n')
  const self = (name: string) =>
    openssl([
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
      '-subj',
      `/CN=${name}`,
      '-days',
      '30',
    ])
  self('root')
  self('self')
  openssl(['req', ...NEW_KEY, '-keyout', 'node.key', '-out', 'node.csr', '-subj', '/CN=node'])

  return {
    ca: read('root.pem'),
    selfSigned: { cert: read('self.pem'), key: read('self.key') },
    issue({ san, from = '20200101000000Z', until = '20991231235959Z' }) {
      const signing = ['ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', 'root.pem', '-keyfile', 'root.key']
      openssl([...signing, '-in', 'node.csr', '-out', 'node.pem', '-startdate', from, '-enddate', until], san)
      return { cert: read('node.pem'), key: read('node.key') }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
