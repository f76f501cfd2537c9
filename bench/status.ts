import { systemClock } from '../src/clock.ts'
import type { Endpoint } from '../src/core/endpoint.ts'
import { createStatusWriter } from '../src/http/status/status-document.ts'
import { createIncidentLog } from '../src/state/incident-log.ts'
import { endpoint, good, liveness, network, nodeCheck } from '../test/support/network.ts'
import { createWorld } from '../test/support/world.ts'
import { cpuSince } from './support.ts'

/**
 * `/api/v1/status` with 1,000 endpoints: the processor time to write it after polls of every endpoint, of a tenth, and of none. Run with `npx tsx bench/status.ts`.
 */
const ROUNDS = 30
const NODE_CHECKS = ['bootstrapped', 'database', 'diskspace', 'network', 'router', 'validation']
const endpoints: Endpoint[] = Array.from({ length: 1000 }, (_, at) =>
  endpoint(`endpoint-${at}`, {
    network: 'avalanche',
    family: 'avalanche',
    checks: ['liveness', 'head'],
    intervalMs: 600_000,
  }),
)
const world = createWorld(systemClock, [{ network: network({ name: 'avalanche', family: 'avalanche' }), endpoints }])
const writer = createStatusWriter({
  board: world.board,
  incidents: createIncidentLog(),
  clock: systemClock,
  observer: () => ({ impaired: false, judging: true, reasons: [] }),
  cluster: () => null,
  audience: 'private',
})

for (const polled of [1000, 100, 0]) {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const checks = NODE_CHECKS.map((name) => nodeCheck(name, { checkedAt: systemClock.now() }))
    for (const one of endpoints.slice(0, polled)) {
      await world.poll(one, { liveness: good(liveness(systemClock.now(), { checks })) })
    }
    const start = process.cpuUsage()
    writer.whole()
    times.push(cpuSince(start) / 1000)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const bytes = Buffer.byteLength(writer.whole().body)
  console.log(
    `${polled} of 1000 polled since: median ${sorted[ROUNDS / 2]?.toFixed(2)} ms, worst ${sorted.at(-1)?.toFixed(2)} ms, ${(bytes / 1e6).toFixed(2)} MB`,
  )
}
