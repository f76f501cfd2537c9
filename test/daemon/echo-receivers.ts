import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'

/** Receivers of notifications that refuse them, and repeat what they were sent in their words. */
export interface EchoReceivers {
  readonly url: string
  readonly smtp: string
  /** Everything they were sent. */
  received(): string
  stop(): void
}

const REFUSALS: readonly ((echo: string, response: ServerResponse) => unknown)[] = [
  (echo, response) => response.writeHead(500).end(echo),
  (echo, response) => response.writeHead(429, { 'retry-after': echo.slice(0, 500) }).end(JSON.stringify({ echo })),
  (echo, response) => response.writeHead(302, { location: `/${encodeURIComponent(echo.slice(0, 500))}` }).end(echo),
  (echo, response) => response.writeHead(503, echo.slice(0, 500)).end(encodeURIComponent(echo)),
  (echo, response) => response.writeHead(400).end(echo),
]

export async function startEchoReceivers(): Promise<EchoReceivers> {
  const received: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method, url, rawHeaders } = request
    const echo = `${url} ${Buffer.concat(chunks).toString()} ${method} ${rawHeaders.join(' ')}`.replace(
      /[^\x20-\x7e]/g,
      ' ',
    )
    const refuse = REFUSALS[received.push(echo) % REFUSALS.length]
    refuse?.(echo, response)
  }
  const http = createHttpServer((request, response) => void answer(request, response))
  const mail = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 echo\r\n')
    socket.setEncoding('utf8').on('data', (line: string) => {
      received.push(line)
      socket.write(line.startsWith('EHLO') ? '250-echo\r\n250 AUTH PLAIN\r\n' : `535 ${line.trim()}\r\n`)
    })
  })
  for (const server of [http, mail]) await once(server.listen(0, '127.0.0.1'), 'listening')
  const portOf = (server: typeof mail) => (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${portOf(http)}`,
    smtp: `127.0.0.1:${portOf(mail)}`,
    received: () => received.join('\n'),
    stop() {
      http.closeAllConnections()
      for (const server of [http, mail]) server.close()
    },
  }
}
