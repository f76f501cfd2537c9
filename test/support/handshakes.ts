import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

/** A certificate that signs itself, with its key. */
export function certificate(name: 'a' | 'b') {
  const read = (end: string) => readFileSync(new URL(`../config/tls/${name}.${end}`, import.meta.url))
  return { cert: read('crt'), key: read('key') }
}

/** The first message of a TLS handshake, as Node sends it. */
export async function clientHello(): Promise<Buffer> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connectSecurely({ port, host: '127.0.0.1', servername: 'name.example' })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return hello
}

export async function dial(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Accepted connections that have sent nothing yet, one for each address. */
export async function dialFrom(port: number, addresses: readonly string[]): Promise<Socket[]> {
  const sockets = await Promise.all(addresses.map((address) => dial(port, address)))
  // Connections are accepted in their order.
  const last = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(last, 'secureConnect')
  last.destroy()
  return sockets
}

/** The most connections that are answered within one iteration of the event loop, when all begin their handshake at once. */
export async function answeredTogether(port: number, count: number): Promise<number> {
  const hello = await clientHello()
  const sockets = await dialFrom(port, new Array<string>(count).fill('127.0.0.1'))
  let [now, most, isOver] = [0, 0, false]
  const tick = () => {
    most = Math.max(most, now)
    now = 0
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const answers = sockets.map(async (socket) => {
    await once(socket, 'data')
    now++
  })
  for (const socket of sockets) socket.write(hello)
  await Promise.all(answers)
  isOver = true
  for (const socket of sockets) socket.destroy()
  return Math.max(most, now)
}
