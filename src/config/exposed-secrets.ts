import { statSync } from 'node:fs'
import { databaseUrls } from '../core/database-url.ts'
import { Secret } from '../secret.ts'
import type { Problem } from './problem.ts'
import type { Config } from './resolve.ts'

/** Warns if every user of the machine can read a configuration file that contains secrets as plain text. */
export function exposedSecrets(file: string, text: string, config: Config): readonly Problem[] {
  const readableByAll = ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
  if (!readableByAll || !secretsIn(config).some((secret) => isIn(text, secret))) return []
  const message =
    'contains secrets, and every user of this machine can read it: chmod 600, or use ${file:PATH} or ${NAME}'
  return [{ path: '', message }]
}

/** A short secret, such as the topic `ops`, may be part of a longer word by chance. */
function isIn(text: string, secret: string): boolean {
  if (secret.length >= LONG) return text.includes(secret)
  return new RegExp(`(?<![\\w-])${secret.replace(/\W/g, '\\$&')}(?![\\w-])`).test(text)
}

const LONG = 8

function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return secretPartsOf(value.reveal())
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : []
}

/** The parts of a URL that may be a key; its host, the user of a mail server or a database and a short path such as `/rpc` are not. */
export function secretPartsOf(secret: string): readonly string[] {
  if (!/^(https?|smtps?|postgres(ql)?):\/\//.test(secret)) return [secret]
  const [url = secret] = databaseUrls(secret) ?? []
  // A header may begin like a URL and be a list of them.
  if (!URL.canParse(url)) return [secret]
  const { protocol, username: user, password, pathname, search } = new URL(url)
  if (protocol.startsWith('postgres')) return [password].filter(Boolean)
  const username = protocol.startsWith('http') ? user : ''
  return [username, password, search.slice(1), ...pathname.split('/').filter(isKeyLike)].filter(Boolean)
}

/** Providers' keys in a path have at least 16 characters, including a digit. */
function isKeyLike(segment: string): boolean {
  return segment.length >= 16 && /\d/.test(segment)
}
