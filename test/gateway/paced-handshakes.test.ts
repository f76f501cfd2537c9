import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { paceHandshakes } from '../../src/gateway/paced-handshakes.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { certificate, clientHello, dial } from '../support/handshakes.ts'

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

test('handshakes take at most half of the time', async () => {
  const clock = createFakeClock()
  let begun = 0
  const server = createServer({
    ...certificate('a'),
    // Node calls it while it processes the first message.
    SNICallback: (_name, done) => {
      begun++
      clock.blockLoop(20)
      done(null)
    },
  })
  paceHandshakes(server, clock, 8000)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const hello = await clientHello()
  const sockets = await Promise.all([1, 2, 3].map(() => dial(port)))

  for (const socket of sockets) socket.write(hello)
  await expect.poll(() => begun).toBe(1)
  await pause(100)

  expect(begun).toBe(1)
  await clock.advance(19)
  expect(begun).toBe(1)
  await clock.advance(1)
  await expect.poll(() => begun).toBe(2)
  await clock.advance(19)
  expect(begun).toBe(2)
  await clock.advance(1)
  await expect.poll(() => begun).toBe(3)

  for (const socket of sockets) socket.destroy()
  server.close()
})
