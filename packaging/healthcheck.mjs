import { get as overHttp } from 'node:http'
import { get as overHttps } from 'node:https'

// Whether the daemon in this container answers: for the Dockerfile's HEALTHCHECK, in an image that has no curl. Ends with 0 if it
// does. Where `server.listen` has another port, or `server.tls` is set, HEARTLINE_HEALTH_URL says where.
const url = new URL(process.env.HEARTLINE_HEALTH_URL ?? 'http://127.0.0.1:9780/-/healthy')
const TIMEOUT_MS = 4000

// It is this very machine that is asked: its certificate is for a name that others know it by.
const options = { timeout: TIMEOUT_MS, rejectUnauthorized: false }
const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
request.on('error', ({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
})
