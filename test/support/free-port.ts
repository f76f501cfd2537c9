import { createServer } from 'node:net'

/** The system gives no port below 32768 to a connection, or to a server that leaves the choice to it. */
const LOWEST = 12_000
/** Workers take turns only after so many. */
const SLOTS = 100
const PER_SLOT = 200
/** Each worker has ports of its own: no other test listens where a node of this one has stopped. */
const slot = Number(process.env['VITEST_POOL_ID'] ?? process.pid) % SLOTS
let taken = Math.floor(Math.random() * PER_SLOT)

/** For a server that stops while others still send to it: its port, on all addresses, stays free until many more were taken. */
export async function freePort(): Promise<number> {
  const port = LOWEST + slot * PER_SLOT + (taken++ % PER_SLOT)
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '0.0.0.0', () => server.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
