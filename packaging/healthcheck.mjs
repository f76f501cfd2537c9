import { get as overHttp } from 'node:http'
import { get as overHttps } from 'node:https'

// Exits with 0 if the daemon in this container responds: for the HEALTHCHECK of the Dockerfile, because the image has no curl. If
// `server.listen` has another port, or `server.tls` is set, HEARTLINE_HEALTH_URL sets the address.
const url = new URL(process.env.HEARTLINE_HEALTH_URL ?? 'http://127.0.0.1:9780/-/healthy')
const TIMEOUT_MS = 4000

// The request goes to the container itself, whose certificate is for its public name.
const options = { timeout: TIMEOUT_MS, rejectUnauthorized: false }
const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
request.on('error', ({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
})
