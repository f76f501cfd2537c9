import type { Fault } from './fault.ts'
import type { ScheduledFault, Timeline } from './fault-set.ts'

/**
 * What happens in the demo: a cycle of three minutes. At most two of the nine are ill at a time, never two of a network,
 * the first from 8 s on; between its turns each is well for long enough to be seen to recover.
 */
const CYCLE_MS = 180_000

function cycle(...schedule: ScheduledFault[]): Timeline {
  return { schedule, repeatMs: CYCLE_MS }
}

function at(seconds: number, forSeconds: number, fault: Fault): ScheduledFault {
  return { atMs: seconds * 1000, forMs: forSeconds * 1000, fault }
}

export const DEMO_FAULTS: Readonly<Record<string, Timeline>> = {
  'avalanche/own-1': cycle(
    at(8, 18, { kind: 'failing-check', name: 'router', contiguousFailures: 5, tolerated: true }),
    at(118, 16, { kind: 'unhealthy' }),
  ),
  'ethereum/provider': cycle(at(16, 14, { kind: 'rate-limit', retryAfterMs: 3000 }), at(130, 14, { kind: 'garbage' })),
  'multiversx/own-2': cycle(at(32, 16, { kind: 'refuse' }), at(148, 14, { kind: 'truncated' })),
  'ethereum/own-2': cycle(at(36, 30, { kind: 'lag', blocks: 4, gradual: true })),
  'avalanche/own-2': cycle(at(54, 26, { kind: 'frozen-heartbeat' })),
  // Slow in each of the two or three requests of a poll: more than the threshold together, less than the timeout.
  'multiversx/provider': cycle(at(72, 14, { kind: 'slow', delayMs: 500 })),
  'ethereum/own-1': cycle(at(88, 28, { kind: 'stall' })),
  'avalanche/provider': cycle(at(94, 14, { kind: 'http', status: 503 }), at(156, 12, { kind: 'hang' })),
  'multiversx/own-1': cycle(at(112, 30, { kind: 'stall', shard: 1 })),
}
