import { createTransport } from 'nodemailer'
import { decoded } from '../nodes/address.ts'
import { createRedact, type Redact } from '../nodes/redact.ts'
import { Secret } from '../secret.ts'
import type { Mail } from './channel.ts'
import type { Delivered } from './http-delivery.ts'
import { cut, plain } from './wording.ts'

/** Deadline of each step of a mail's delivery. */
const TIMEOUT_MS = 10_000
const MAX_WORDS = 300

/** Sends one mail over a connection of its own; never rejects. */
export async function sendMail({ smtp, references, ...mail }: Omit<Mail, 'kind'>): Promise<Delivered> {
  const url = new URL(smtp.reveal())
  const hasPassword = url.password !== ''
  const transport = createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (url.protocol === 'smtps:' ? 465 : 587),
    secure: url.protocol === 'smtps:',
    // A password never crosses the network in plain text.
    requireTLS: hasPassword && !isLoopback(url.hostname),
    ...(hasPassword ? { auth: { user: decoded(url.username), pass: decoded(url.password) } } : {}),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  try {
    await transport.sendMail({
      ...mail,
      to: [...mail.to],
      references,
      inReplyTo: references,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    return { result: 'sent' }
  } catch (error) {
    // As SASL's PLAIN sends it (RFC 4616): a server may repeat the line.
    const login = new Secret(`\0${decoded(url.username)}\0${decoded(url.password)}`)
    const redact = createRedact({ url: smtp, headers: hasPassword ? { login } : {}, tls: NO_TLS, rpcPath: '' })
    return outcomeOf(error, redact)
  } finally {
    transport.close()
  }
}

interface SmtpError {
  readonly code?: string
  readonly responseCode?: number
  readonly response?: string
}

/** SMTP's 5xx is final, but a wrong password or certificate may be put right within the day. */
function outcomeOf(error: unknown, redact: Redact): Delivered {
  const { code = 'unknown', responseCode, response = '' } = (error ?? {}) as SmtpError
  const said = redact(plain(response).replace(/^\d{3}[ -]/, ''), MAX_WORDS)
  const words = responseCode === undefined ? code : `${code}, SMTP ${responseCode}: ${said}`
  const message = cut(`the mail was not accepted (${words})`, MAX_WORDS)
  const isFinal = responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH' && code !== 'ETLS'
  return isFinal ? { result: 'rejected', error: message } : { result: 'retried', error: message, retryAfterMs: null }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.')
}

const NO_TLS = { ca: null, insecure: false }
