import type { Tier } from '../../core/endpoint.ts'
import { type LeftOutReason, rank } from '../../core/routing/rank.ts'
import type { UnixMs } from '../../core/time.ts'
import type { BoardNetwork } from '../../state/board.ts'
import { candidatesOf } from './candidates.ts'

/** One endpoint as a gateway would begin with it. */
export interface PreviewedEndpoint {
  readonly endpoint: string
  readonly tier: Tier
  /** `null`: it would be asked. */
  readonly leftOut: LeftOutReason | null
  /** Of its latest poll. */
  readonly latencyMs: number | null
}

/** Whom a gateway would ask, where there is none: by the monitor's verdicts and latencies, without any traffic of its own. */
export function previewOf(network: BoardNetwork, now: UnixMs): readonly PreviewedEndpoint[] {
  const candidates = candidatesOf(network, now)
  const { groups, leftOut } = rank(candidates)
  const because = new Map(leftOut.map((one) => [one.endpoint, one.because]))
  const asked = groups.flatMap((group) =>
    [...group].sort((a, b) => (a.health.latencyMs ?? 0) - (b.health.latencyMs ?? 0)),
  )
  return [...asked, ...candidates.filter(({ endpoint }) => because.has(endpoint))].map(
    ({ endpoint, tier, health }) => ({
      endpoint,
      tier,
      leftOut: because.get(endpoint) ?? null,
      latencyMs: health.latencyMs,
    }),
  )
}
