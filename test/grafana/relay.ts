import { createServer as createHttpServer, request } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Certificate } from '../nodes/certificates.ts'

/** A relay in front of a daemon: keeps its address over a restart, and can make a timestamp metric older. */
export interface Relay {
  readonly address: string
  /** `null`: the daemon is gone. */
  to(url: string | null): void
  /** Makes this timestamp older by this many seconds; `null`: none. */
  age(metric: string | null, seconds?: number): void
  stop(): Promise<void>
}

export async function startRelay(): Promise<Relay> {
  let target: string | null = null
  let aged: { readonly metric: string; readonly seconds: number } | null = null
  const server = createHttpServer((asked, answer) => {
    if (target === null) return void answer.destroy()
    const forwarded = request(`${target}${asked.url}`, (got) => {
      let text = ''
      got.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      got.on('end', () => {
        answer.writeHead(got.statusCode ?? 502, { 'content-type': got.headers['content-type'] })
        answer.end(aged === null ? text : withAged(text, aged.metric, aged.seconds))
      })
    })
    forwarded.on('error', () => answer.destroy())
    forwarded.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    to(url) {
      target = url
    },
    age(metric, seconds = 0) {
      aged = metric === null ? null : { metric, seconds }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function withAged(text: string, metric: string, seconds: number): string {
  const line = new RegExp(`^${metric} (\\S+)$`, 'm')
  return text.replace(line, (_, value: string) => `${metric} ${Number(value) - seconds}`)
}

/** HTTPS in front of a node with plain HTTP. */
export interface TlsFront {
  readonly url: string
  serve(certificate: Certificate): void
  stop(): Promise<void>
}

export async function startTlsFront(nodeUrl: string, certificate: Certificate): Promise<TlsFront> {
  const server = createHttpsServer(certificate, (asked, answer) => {
    const forwarded = request(`${nodeUrl}${asked.url}`, { method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    forwarded.on('error', () => answer.destroy())
    asked.pipe(forwarded)
  })
  // The server itself does not know of connections that still shake hands, with the certificate of before.
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const closeAll = () => sockets.forEach((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next) {
      server.setSecureContext(next)
      closeAll()
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        closeAll()
      }),
  }
}
