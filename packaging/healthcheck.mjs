import { get as overHttp } from 'node:http'
import { get as overHttps } from 'node:https'
import { setTimeout } from 'node:timers'

// Exits with 0 if the daemon in this container responds: for the HEALTHCHECK of the Dockerfile, because the image has no curl. If
// `server.listen` has another port, or `server.tls` is set, HEARTLINE_HEALTH_URL sets the address.
const url = new URL(process.env.HEARTLINE_HEALTH_URL ?? 'http://127.0.0.1:9780/-/healthy')
const TIMEOUT_MS = 4000

const RETRY_AFTER_MS = 100

const signal = AbortSignal.timeout(TIMEOUT_MS)
// The request goes to the container itself, whose certificate is for its public name.
const options = { signal, rejectUnauthorized: false }

function ask() {
  const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, options, ({ statusCode }) => {
    process.exit(statusCode === 200 ? 0 : 1)
  })
  request.on('error', ({ code, message }) => {
    // In a flood of connections, the daemon may close this one before it has read the request.
    if (code === 'ECONNRESET' && !signal.aborted) return void setTimeout(ask, RETRY_AFTER_MS)
    process.stderr.write(`${signal.aborted ? `no answer within ${TIMEOUT_MS} ms` : message}\n`)
    process.exit(1)
  })
}

ask()
