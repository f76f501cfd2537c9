import type { Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Cuts what comes over a connection into whole messages, for as little work as can be: a load generator and a node that cost more than
 * what is measured would measure themselves. Every message has a length and no chunks.
 */
export function onMessages(socket: Socket, take: (bytes: Buffer, bodyStart: number) => void): void {
  let kept: Buffer | null = null
  socket.on('data', (chunk: Buffer) => {
    let bytes: Buffer = kept === null ? chunk : Buffer.concat([kept, chunk])
    kept = null
    while (bytes.length > 0) {
      const headEnd = bytes.indexOf(HEAD_END)
      const bodyStart = headEnd + 4
      const end = headEnd === -1 ? Number.POSITIVE_INFINITY : bodyStart + lengthIn(bytes.toString('latin1', 0, headEnd))
      if (bytes.length < end) {
        kept = bytes
        return
      }
      take(bytes.subarray(0, end), bodyStart)
      bytes = bytes.subarray(end)
    }
  })
}

function lengthIn(head: string): number {
  let at = head.indexOf('ontent-length: ')
  if (at === -1) at = head.indexOf('ontent-Length: ')
  if (at === -1) throw new Error(`no length: ${head}`)
  return Number.parseInt(head.slice(at + 15, at + 25), 10)
}
