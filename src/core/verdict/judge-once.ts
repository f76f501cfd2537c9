import type { Network } from '../network.ts'
import { isOwnFault, type PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Health } from './health.ts'
import { createNetworkView } from './network-view.ts'

/**
 * The healths that a single round of polls gives, without waiting for a second one to confirm. Every endpoint is held to
 * what all of them said, whoever was heard first.
 */
export function judgeRound(network: Network, results: readonly PollResult[], now: UnixMs): readonly Health[] {
  const impatient = { ...network, thresholds: { ...network.thresholds, failAfter: 1, recoverAfter: 1 } }
  const endpoints = results.map((result) => result.endpoint)
  const view = createNetworkView(impatient, endpoints, now)
  const fair = results.filter((result) => !isOwnFault(result))
  for (const result of fair) view.judge(result, now)
  for (const result of fair) view.judge(result, now)
  return endpoints.map((endpoint) => view.health(endpoint.name)).filter((health) => health !== undefined)
}
