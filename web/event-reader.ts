/**
 * Reads server-sent events from a response (HTML standard, 9.2.6): `EventSource` cannot send `Authorization`.
 * Calls `heard` for all received data, comments included, because all of it is a sign of life.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { heard, receive }: { readonly heard: () => void; readonly receive: (event: ServerEvent) => void },
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventOf(block)
      if (event.data !== '') receive(event)
    }
  }
}

export interface ServerEvent {
  readonly name: string
  readonly data: string
  /** Empty if the event has none. */
  readonly id: string
}

function eventOf(block: string): ServerEvent {
  let name = 'message'
  let id = ''
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const field = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
  }
  return { name, id, data: data.join('\n') }
}
