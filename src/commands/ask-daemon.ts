import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { buildConnector, Client } from 'undici'
import type * as z from 'zod'
import { urlOf } from '../config/addresses.ts'
import type { Config } from '../config/resolve.ts'
import { parseJson } from '../core/json.ts'
import { printable } from '../http/plain-text.ts'
import { ProblemView } from '../http/wire/common.ts'
import { readConfig } from './check-config.ts'
import { type CommandIo, EXIT } from './io.ts'

/**
 * Sends a request to the daemon that runs with this configuration file, with its token. Prints what `then` makes of the
 * answer, or a sentence on stderr; returns the exit status.
 */
export async function askDaemon<T>(
  file: string,
  ask: Ask<T>,
  io: CommandIo,
  then: (answer: T) => string,
): Promise<number> {
  const loaded = readConfig(file, io)
  if (loaded === null) return EXIT.badConfig
  const { server } = loaded.config
  const fail = (sentence: string, status: number = EXIT.software): number => {
    io.err(`heartline: ${sentence}`)
    return status
  }
  if (server.listen.port === 0) return fail('server.listen: port 0 is any free port: the daemon cannot be found')
  const url = urlOf(server.listen, server.tls !== null)
  const client = new Client(url, { connect: connectorFor(server.tls), connectTimeout: TIMEOUT_MS })
  try {
    const answer = await client.request({
      method: ask.method,
      path: ask.path,
      headers: {
        ...(server.token !== null && { authorization: `Bearer ${server.token.reveal()}` }),
        ...(ask.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: ask.body === undefined ? null : JSON.stringify(ask.body),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      signal: io.signal,
    })
    const text = await answer.body.text()
    if (answer.statusCode === 401) return fail(`the daemon at ${url} has another server.token than this configuration`)
    const isGood = answer.statusCode < 400
    const read = (isGood ? ask.shape : ProblemView).safeParse(parseJson(text))
    if (!read.success) return fail(`what answers at ${url} is not this version of Heartline`)
    if (isGood) {
      io.out(then(read.data as T))
      return EXIT.ok
    }
    const { status, detail } = read.data as ProblemView
    return fail(printable(detail), status === 400 || status === 404 ? EXIT.usage : EXIT.software)
  } catch (error) {
    if (error instanceof OtherCertificate) return fail(`the daemon at ${url} shows another certificate than server.tls`)
    return fail(`no daemon answers at ${url}: this command needs one that runs with the same configuration`)
  } finally {
    await client.destroy()
  }
}

export interface Ask<T> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Of the answer. */
  readonly shape: z.ZodType<T>
}

const TIMEOUT_MS = 10_000

class OtherCertificate extends Error {}

/**
 * The certificate is for the name of the page, not for this address, so it is compared with the configured one before the
 * token is sent.
 */
function connectorFor(tls: Config['server']['tls']): buildConnector.connector {
  const connect = buildConnector({ rejectUnauthorized: false, timeout: TIMEOUT_MS })
  if (tls === null) return connect
  const expected = new X509Certificate(tls.cert).fingerprint256
  return (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result
      if (error !== null) return callback(error, null)
      if ((socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 === expected) return callback(null, socket)
      socket.destroy()
      callback(new OtherCertificate(), null)
    })
}
