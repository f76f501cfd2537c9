import type { StateView } from '../../src/http/wire/status.ts'

/** What the gateway and the network page say about the routing order. */
export const ROUTING_WORDS = {
  fallback: 'fallback',
  noneHealthy: 'No healthy endpoint: reads are sent to the least unhealthy one, all other requests are rejected.',
  /** `1st`, `2nd`, `11th`. */
  nth(place: number): string {
    const isTeen = place % 100 > 10 && place % 100 < 14
    return `${place}${isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th')}`
  },
}

const REASONS: Readonly<Record<string, string>> = {
  down: 'down',
  unknown: 'state unknown',
  unverified: 'chain not verified yet',
  maintenance: 'planned maintenance',
  'breaker-open': 'circuit breaker open after failed requests',
  resting: 'rate limited, backing off',
  'wrong-network': 'serves another chain',
  unreachable: 'unreachable',
  'bad-answer': 'invalid response',
  unhealthy: 'reports itself unhealthy',
  'consensus-down': 'no working consensus node',
  syncing: 'syncing',
  'consensus-syncing': 'consensus node syncing',
  forked: 'on a minority branch',
  stalled: 'no new block while other endpoints advance',
  lagging: 'behind the other endpoints',
}

/** Why an endpoint is excluded now, by its current state where that is newer than the routing order. */
export function exclusionOf({ left_out: leftOut }: { left_out: string | null }, state?: StateView): string | null {
  return leftOut ?? (state === 'down' ? state : null)
}

/** Why an endpoint is excluded from routing, by the code of `core/routing/rank.ts` or of the gateway. */
export function exclusionText(code: string): string {
  return REASONS[code] ?? code
}
