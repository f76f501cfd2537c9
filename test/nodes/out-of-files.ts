import { closeSync, openSync } from 'node:fs'
import { systemClock } from '../../src/clock.ts'
import { createAddress } from '../../src/nodes/address.ts'
import { createNodeClient } from '../../src/nodes/client.ts'
import { Deadline } from '../../src/nodes/deadline.ts'
import { Secret } from '../../src/secret.ts'

// Run with few file descriptors: takes them all, asks a node, and prints what came of it.
const client = createNodeClient({ clock: systemClock, maxConnections: 8, lookup: null })
const address = createAddress({
  url: new Secret('http://127.0.0.1:9'),
  headers: {},
  tls: { ca: null, insecure: false },
})
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // All are used.
}
const deadline = new Deadline(systemClock, 5000, new AbortController().signal)
const sent = await client.send(address, { method: 'GET', path: '/', body: null }, deadline)
for (const file of taken) closeSync(file)
deadline.end()
console.log(JSON.stringify(sent))
client.close()
