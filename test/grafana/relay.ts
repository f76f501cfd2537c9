import { createServer as createHttpServer, request } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../nodes/certificates.ts'

/** Stands before a daemon, so that it keeps its address over a restart; while frozen, one of its metrics stands still. */
export interface Relay {
  readonly address: string
  /** `null`: nobody is there. */
  to(url: string | null): void
  freeze(metric: string | null): void
  stop(): Promise<void>
}

export async function startRelay(): Promise<Relay> {
  let target: string | null = null
  let frozen: { readonly metric: string; line: string | null } | null = null
  const server = createHttpServer((asked, answer) => {
    if (target === null) return void answer.destroy()
    const forwarded = request(`${target}${asked.url}`, (got) => {
      let text = ''
      got.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      got.on('end', () => {
        answer.writeHead(got.statusCode ?? 502, { 'content-type': got.headers['content-type'] })
        answer.end(frozen === null ? text : withFrozen(text, frozen))
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
    freeze(metric) {
      frozen = metric === null ? null : { metric, line: null }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function withFrozen(text: string, frozen: { readonly metric: string; line: string | null }): string {
  return text.replace(new RegExp(`^${frozen.metric} .*$`, 'm'), (line) => {
    frozen.line ??= line
    return frozen.line
  })
}

/** HTTPS before a node that speaks plain HTTP. */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next) {
      server.setSecureContext(next)
      server.closeAllConnections()
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
