import type { State } from './condition.ts'

/**
 * The state of a network by its endpoints, or of all networks: `up` if all are up, `down` if no endpoint is up or degraded,
 * otherwise `degraded`. Maintenance and unknown count only if there is nothing else: maintenance hides no outage, and
 * an endpoint that was not polled yet makes no network unhealthy.
 */
export function networkState(states: Iterable<State>): State {
  let up = 0
  let degraded = 0
  let down = 0
  let maintenance = 0
  let unknown = 0
  for (const state of states) {
    switch (state) {
      case 'up':
        up++
        break
      case 'degraded':
        degraded++
        break
      case 'down':
        down++
        break
      case 'maintenance':
        maintenance++
        break
      case 'unknown':
        unknown++
        break
    }
  }
  if (up + degraded + down > 0) {
    if (up + degraded === 0) return 'down'
    return degraded + down === 0 ? 'up' : 'degraded'
  }
  return maintenance > 0 && unknown === 0 ? 'maintenance' : 'unknown'
}
