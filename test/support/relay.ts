import { connect, createServer, type Socket } from 'node:net'

/** Stands between a daemon and a server on this machine, and breaks the way between them. */
export interface Relay {
  readonly port: number
  /** Nothing passes any more, and no connection is closed; new ones are accepted. */
  hang(): void
  /** Ends all connections, and each new one at once. */
  reset(): void
  /** Passes everything again, to this port. */
  pass(port?: number): void
  close(): Promise<void>
}

export async function startRelay(targetPort: number): Promise<Relay> {
  let target = targetPort
  let mode: 'pass' | 'hang' | 'reset' = 'pass'
  const sockets = new Set<Socket>()

  function add(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }

  function endAll(): void {
    for (const socket of sockets) socket.resetAndDestroy()
  }

  const server = createServer((client) => {
    add(client)
    if (mode === 'reset') client.resetAndDestroy()
    if (mode !== 'pass') return
    const upstream = connect(target, '127.0.0.1')
    add(upstream)
    const forward = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => (mode === 'pass' ? to.write(bytes) : undefined))
      from.on('close', () => (mode === 'hang' ? undefined : to.destroy()))
    }
    forward(client, upstream)
    forward(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()

  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    hang() {
      mode = 'hang'
    },
    reset() {
      mode = 'reset'
      endAll()
    },
    pass(port = target) {
      target = port
      mode = 'pass'
      // A connection that lost bytes in between is of no use.
      endAll()
    },
    async close() {
      endAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
