import type { State } from './condition.ts'

/**
 * What a network is called, from the states of its endpoints; and the whole, from the states of its networks.
 * `up` when every one that is known is up, `down` when none of them is up or degraded, else `degraded`.
 * Those in maintenance or unknown neither help nor harm the others: an outage beside a maintenance window stays an outage,
 * and a node that nobody has asked yet makes no healthy network look ill. Where nothing is known, that is what is said.
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
