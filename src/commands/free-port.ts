import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The wanted loopback port if it is free, else any other. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(wanted, '127.0.0.1', () => resolve(true))
  })
  if (!isFree) return freePort()
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
