import { createServer, type Server } from 'node:net'

/** The system gives no port below 32768 to a connection, or to a server that leaves the choice to it. */
const LOWEST = 12_000
const SLOTS = 100
const PER_SLOT = 200

/** Each process has ports of its own: no other test listens where a node of this one has stopped. It holds the slot's first one. */
const slot = claimSlot(process.pid)
let taken = 0

async function claimSlot(preferred: number): Promise<number> {
  for (let tried = 0; tried < SLOTS; tried++) {
    const port = LOWEST + ((preferred + tried) % SLOTS) * PER_SLOT
    const held = await listen(port)
    if (held === null) continue
    held.unref()
    return port
  }
  throw new Error('no free ports are left')
}

/** `null` if the port is in use, on any address. */
function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(null))
      .listen(port, '0.0.0.0', () => resolve(server))
  })
}

/** For a server that stops while others still send to it: its port, on all addresses, stays free until many more were taken. */
export async function freePort(): Promise<number> {
  const first = await slot
  const port = first + 1 + (taken++ % (PER_SLOT - 1))
  const server = await listen(port)
  if (server === null) return freePort()
  await new Promise((resolve) => server.close(resolve))
  return port
}
