import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface HttpServer {
  readonly url: string
  /** Connections that it accepted. */
  readonly accepted: () => number
}

/** An HTTP server on a free port until the test has finished; `answer` gets the whole body of each request. */
export async function serveHttp(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => unknown,
): Promise<HttpServer> {
  let accepted = 0
  const server = createServer((request, response) => {
    const isGone = () => {}
    void text(request).then((body) => answer(request, response, body), isGone)
  }).on('connection', () => accepted++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, accepted: () => accepted }
}
