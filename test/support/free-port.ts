import { createServer } from 'node:net'

/** The system gives no port below 32768 to a connection, or to a server that leaves the choice to it. */
const LOWEST = 12_000
const COUNT = 20_000

/** A port on loopback for a program that needs a fixed one: it stays free while that program is stopped. */
export async function freePort(): Promise<number> {
  const port = LOWEST + Math.floor(Math.random() * COUNT)
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
