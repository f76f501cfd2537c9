import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import replyFrom from '@fastify/reply-from'
import Fastify from 'fastify'
import { Pool } from 'undici'

/**
 * What the gateway is measured beside: relays that check nothing. `bare` takes a whole body, sends it on, and sends the whole answer back,
 * with as little work as these packages allow; `plain` is written as their documentation does it. Forked by `forward.ts` with `bare`,
 * `plain` or `reply-from` and the node's origin; tells its port.
 */
const [, , kind, origin = ''] = process.argv

function bare(): Promise<number> {
  const pool = new Pool(origin, { connections: 128, pipelining: 1 })
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const [first] = chunks
      const body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
      pool
        .request({ path: '/', method: 'POST', headers: { 'content-type': 'application/json' }, body })
        .then(async (answer) => {
          const bytes = Buffer.from(await answer.body.arrayBuffer())
          res.writeHead(answer.statusCode, { 'content-type': 'application/json', 'content-length': bytes.length })
          res.end(bytes)
        })
        .catch(() => res.writeHead(502).end())
    })
  })
  return listen(server)
}

/** Bodies are streams, and the headers of both sides are passed on. */
function plain(): Promise<number> {
  const pool = new Pool(origin, { connections: 128 })
  const relay = async (req: IncomingMessage, res: ServerResponse) => {
    try {
      const { headers } = req
      const answer = await pool.request({ path: '/', method: 'POST', headers, body: req })
      res.writeHead(answer.statusCode, answer.headers)
      answer.body.pipe(res)
    } catch {
      res.writeHead(502).end()
    }
  }
  const server = createServer((req, res) => void relay(req, res))
  return listen(server)
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
  return (server.address() as AddressInfo).port
}

async function fastify(): Promise<number> {
  const server = Fastify({ logger: false })
  await server.register(replyFrom, { base: origin, undici: { connections: 128, pipelining: 1 } })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  server.post('/*', (_request, reply) => reply.from('/'))
  return Number(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port)
}

const port = await (kind === 'bare' ? bare() : kind === 'plain' ? plain() : fastify())
process.send?.({ port })
process.on('disconnect', () => process.exit())
