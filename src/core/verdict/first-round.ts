import type { Endpoint } from '../endpoint.ts'
import type { UnixMs } from '../time.ts'

/**
 * The first polls after a restart. The endpoints that answer first do not show which of them is right: no endpoint is
 * compared until every one of the earlier run was polled once. Rarely polled ones are not waited for.
 */
export function createFirstRound(endpoints: readonly Pick<Endpoint, 'intervalMs'>[]) {
  const shortestMs = Math.min(...endpoints.map(({ intervalMs }) => intervalMs))
  const awaited = new Set<string>()
  let awaitedUntil = Number.NEGATIVE_INFINITY

  return {
    wait(name: string, now: UnixMs): void {
      awaited.add(name)
      awaitedUntil = now + 2 * shortestMs
    },
    polled: (name: string) => void awaited.delete(name),
    isOver: (now: UnixMs) => awaited.size === 0 || now > awaitedUntil,
    shift(ms: number): void {
      awaitedUntil += ms
    },
  }
}
