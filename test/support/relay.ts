import { connect, createServer, type Socket } from 'node:net'
import type { PostgresServer } from './postgres.ts'

/** Stands between a daemon and a server on this machine, and breaks the way between them. */
export interface Relay {
  readonly port: number
  /** Nothing passes any more, and no connection is closed; new ones are accepted. */
  hang(): void
  /** Open connections pass nothing any more. The server learns when a client is gone, as by its keepalives, the client nothing. */
  freeze(): void
  /** Ends all connections, and each new one at once. */
  reset(): void
  /** Passes everything again, to this port. */
  pass(port?: number): void
  close(): Promise<void>
}

/** `change` is applied to what the server sends. */
export async function startRelay(targetPort: number, change = (bytes: Buffer): Buffer => bytes): Promise<Relay> {
  let target = targetPort
  let mode: 'pass' | 'hang' | 'reset' = 'pass'
  const sockets = new Set<Socket>()
  const frozen = new WeakSet<Socket>()

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
    const forward = (from: Socket, to: Socket, changed = (bytes: Buffer): Buffer => bytes) => {
      from.on('data', (bytes) => (mode === 'pass' && !frozen.has(client) ? to.write(changed(bytes)) : undefined))
      from.on('close', () => (mode === 'hang' || (to === client && frozen.has(client)) ? undefined : to.destroy()))
    }
    forward(client, upstream)
    forward(upstream, client, change)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()

  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    hang() {
      mode = 'hang'
    },
    freeze() {
      for (const socket of sockets) frozen.add(socket)
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

/**
 * The way to a real PostgreSQL that says it is of version 13. The version it takes away has as many digits, so the lengths
 * in the protocol stay right.
 */
export async function startRelayToOldPostgres(server: PostgresServer): Promise<Relay> {
  const version = String((await server.run('SHOW server_version'))[0]?.server_version)
  return startRelay(server.port, (bytes) =>
    Buffer.from(bytes.toString('latin1').replaceAll(version, `13${version.slice(2)}`), 'latin1'),
  )
}
