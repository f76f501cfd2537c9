import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { UnixMs } from '../core/time.ts'
import { formatPath, type Path, type Problem } from './problem.ts'
import type { Draft } from './salvage.ts'
import type { ConfigFile } from './schema.ts'

/** The text of every file that the configuration names, by absolute path. */
export type Files = ReadonlyMap<string, string>

/** Reads and checks certificates, keys and the logo, so that an unusable one is reported before the first connection. */
export function readTlsFiles(
  draft: Draft<ConfigFile>,
  baseDir: string,
  now: UnixMs,
): { readonly files: Files; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const files = new Map<string, string>()
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const complain = (path: Path, message: string) => problems.push({ path: formatPath(path), message })

  const read = (file: string | undefined, path: Path): string | undefined => {
    if (file === undefined) return undefined
    const absolute = resolve(baseDir, file)
    const known = files.get(absolute)
    if (known !== undefined) return known
    try {
      const stat = statSync(absolute)
      if (!stat.isFile() || stat.size > LIMIT_BYTES) throw new Error('not a regular file')
      const text = readFileSync(absolute, 'utf8')
      files.set(absolute, text)
      return text
    } catch {
      complain(path, 'the file cannot be read')
      return undefined
    }
  }
  const readAuthorities = (file: string | undefined, path: Path): void => {
    const ca = read(file, path)
    if (ca !== undefined && !areCertificates(ca)) complain(path, 'the file holds no PEM certificate')
  }
  for (const listener of ['server', 'gateway'] as const) {
    const tls = draft[listener]?.tls
    const cert = read(tls?.cert, [listener, 'tls', 'cert'])
    const key = read(tls?.key, [listener, 'tls', 'key'])
    if (cert === undefined) continue
    if (!areCertificates(cert)) {
      complain([listener, 'tls', 'cert'], 'the file holds no PEM certificate')
      continue
    }
    if (key !== undefined && !canServe(cert, key)) {
      complain([listener, 'tls', 'key'], 'the file holds no PEM private key for this certificate')
    }
    const message = whyNotValid(cert, now)
    if (message !== null) warnings.push({ path: formatPath([listener, 'tls', 'cert']), message })
  }
  draft.networks?.forEach((network, at) => {
    network?.endpoints?.forEach((endpoint, index) => {
      readAuthorities(endpoint?.tls?.ca, ['networks', at, 'endpoints', index, 'tls', 'ca'])
    })
  })
  draft.notify?.channels?.forEach((channel, at) => {
    readAuthorities(channel?.tls?.ca, ['notify', 'channels', at, 'tls', 'ca'])
  })
  const logo = read(draft.server?.public_page?.logo, ['server', 'public_page', 'logo'])
  if (logo !== undefined && !/<svg[\s>]/.test(logo))
    complain(['server', 'public_page', 'logo'], 'the file holds no SVG picture')
  return { files, problems, warnings }
}

/** The text of a file that was read. */
export function textOf(file: string, { baseDir, files }: { readonly baseDir: string; readonly files: Files }): string {
  const text = files.get(resolve(baseDir, file))
  if (text === undefined) throw new Error('a file named in the configuration was not read')
  return text
}

/** Far above any real file: a system's CA bundle is about 220 KB. */
const LIMIT_BYTES = 4 * 2 ** 20
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function areCertificates(pem: string): boolean {
  const found = pem.match(CERTIFICATE) ?? []
  return found.length > 0 && found.every((text) => attempt(() => new X509Certificate(text)))
}

/** Judges the first certificate, the listener's own: a chain may end with an old one that clients pass over. */
function whyNotValid(pem: string, now: UnixMs): string | null {
  const [own = ''] = pem.match(CERTIFICATE) ?? []
  const { validFrom, validTo } = new X509Certificate(own)
  if (now > Date.parse(validTo)) return `the certificate expired on ${validTo}: clients reject it`
  return now < Date.parse(validFrom) ? `the certificate is not valid before ${validFrom}: clients reject it` : null
}

function canServe(cert: string, key: string): boolean {
  return attempt(() => createSecureContext({ cert, key }))
}

function attempt(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
