import { serveHttp } from '../support/http-server.ts'

interface Message {
  readonly type: string
  readonly data: {
    readonly text: string
    readonly incidents: readonly { readonly id: string; readonly state: string }[]
  }
}

/** A receiver of webhooks that accepts every message, for the test that runs; returns its URL. */
export async function startReceiver(note: (message: Message, path: string) => void): Promise<string> {
  const { url } = await serveHttp((request, response, body) => {
    note(JSON.parse(body) as Message, request.url ?? '')
    response.end()
  })
  return url
}
