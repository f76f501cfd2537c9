import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface Message {
  readonly type: string
  readonly data: {
    readonly text: string
    readonly incidents: readonly { readonly id: string; readonly state: string }[]
  }
}

/** A receiver of webhooks that accepts every message, for the test that runs; returns its URL. */
export async function startReceiver(note: (message: Message, path: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (bytes: Buffer) => {
      body += bytes.toString()
    })
    request.on('end', () => {
      note(JSON.parse(body) as Message, request.url ?? '')
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
