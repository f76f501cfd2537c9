import type { Clock } from '../clock.ts'
import { describeFailure } from '../core/failure.ts'
import { locationOf } from '../core/host-location.ts'
import { decoded } from '../nodes/address.ts'
import { UntrustedError } from '../nodes/connect.ts'
import { Deadline } from '../nodes/deadline.ts'
import { createRedact, type Redact } from '../nodes/redact.ts'
import { transportFailure } from '../nodes/transport-failure.ts'
import { Secret } from '../secret.ts'
import type { Mail } from './channel.ts'
import type { Delivered } from './http-delivery.ts'
import { cut, plain } from './wording.ts'

/** Deadline of each step of a mail's delivery, and of all of them: a server may send a byte now and then for ever. */
const STEP_TIMEOUT_MS = 10_000
const TIMEOUT_MS = 30_000
const MAX_WORDS = 300

export type MailClock = Pick<Clock, 'after' | 'monotonic'>

/**
 * Sends one mail over a connection of its own; never rejects. It is sent once a recipient has got it: to try it again for
 * the others would keep back what comes after it.
 */
export async function sendMail(
  { smtp, references, ...mail }: Mail,
  { ca, clock, signal }: { readonly ca: string | null; readonly clock: MailClock; readonly signal: AbortSignal },
): Promise<Delivered> {
  // Loaded with the first mail: it takes a tenth of the daemon's start, and most have no such channel.
  const { createTransport } = await import('nodemailer')
  const url = new URL(smtp.reveal())
  const hasPassword = url.password !== ''
  const isLoopback = locationOf(url.hostname.toLowerCase()).zone === 'loopback'
  const transport = createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (url.protocol === 'smtps:' ? 465 : 587),
    secure: url.protocol === 'smtps:',
    // A password never crosses the network in plain text.
    requireTLS: hasPassword && !isLoopback,
    ...(hasPassword ? { auth: { user: decoded(url.username), pass: decoded(url.password) } } : {}),
    // A relay on this machine often has a self-signed certificate; `tls.ca` says that it has one to be verified.
    tls: ca !== null ? { ca } : isLoopback && url.protocol === 'smtp:' ? { rejectUnauthorized: false } : {},
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // As SASL's PLAIN sends it (RFC 4616): a server may repeat the line.
  const login = new Secret(`\0${decoded(url.username)}\0${decoded(url.password)}`)
  const redact = createRedact({ url: smtp, headers: hasPassword ? { login } : {}, tls: NO_TLS, rpcPath: '' })
  const deadline = new Deadline(clock, TIMEOUT_MS, signal)
  const ending = new AbortController()
  const abort = () => ending.abort()
  if (deadline.passed) abort()
  deadline.watch(abort)
  try {
    const { rejected, rejectedErrors = [] } = await transport.sendMail({
      ...mail,
      signal: ending.signal,
      to: [...mail.to],
      ...(references === null ? {} : { references, inReplyTo: references }),
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const [refusal] = rejectedErrors
    if (refusal === undefined) return { result: 'sent' }
    const { error } = outcomeOf(refusal, redact)
    return { result: 'sent', missed: `${rejected.length} of ${mail.to.length} recipients: ${error}` }
  } catch (error) {
    return outcomeOf(error, redact)
  } finally {
    deadline.unwatch(abort)
    deadline.end()
    transport.close()
  }
}

type Refused = Exclude<Delivered, { readonly result: 'sent' }>

interface SmtpError {
  readonly code?: string
  /** What nodemailer's own code stands for, such as `ECONNREFUSED`. */
  readonly originalCode?: string
  readonly responseCode?: number
  readonly response?: string
}

/** SMTP's 5xx is final, but a wrong password or certificate may be put right within the day. */
function outcomeOf(error: unknown, redact: Redact): Refused {
  const { code = 'unknown', responseCode, response = '' } = (error ?? {}) as SmtpError
  if (responseCode === undefined) return { result: 'retried', error: wordsOf(error as SmtpError), retryAfterMs: null }
  const said = redact(plain(response).replace(/^\d{3}[ -]/, ''), MAX_WORDS)
  const message = cut(`the mail was not accepted (${code}, SMTP ${responseCode}: ${said})`, MAX_WORDS)
  const isFinal = responseCode >= 500 && code !== 'EAUTH' && code !== 'ETLS'
  return isFinal ? { result: 'rejected', error: message } : { result: 'retried', error: message, retryAfterMs: null }
}

/** Of an error without an answer of the server. Its message may hold the host. */
function wordsOf({ code = 'unknown', originalCode }: SmtpError): string {
  switch (code) {
    case 'EABORT':
    case 'ETIMEDOUT':
      return 'the mail server did not answer in time'
    case 'EDNS':
      return 'the mail server could not be resolved (EDNS)'
  }
  if (originalCode === undefined) return `the mail was not accepted (${code})`
  const cause = CERTIFICATE_CODE.test(originalCode)
    ? new UntrustedError(originalCode)
    : Object.assign(new Error(code), { code: originalCode })
  const failure = transportFailure(cause, 'unsent', TIMEOUT_MS)
  return `the mail server cannot be used: ${describeFailure(failure)} (${originalCode})`
}

/** Of Node.js and OpenSSL, while a certificate is verified. */
const CERTIFICATE_CODE = /CERT|ISSUER|SIGNATURE|ALTNAME/
const NO_TLS = { ca: null, insecure: false }
