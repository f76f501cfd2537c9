import { createServer } from 'node:net'

/** A port on loopback that was free a moment ago, for a program that needs a fixed port. */
export async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
