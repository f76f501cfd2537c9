import type { UnixMs } from '../core/time.ts'
import type { Situation } from './answer.ts'
import { type Block, digest } from './chain.ts'

/** avalanchego versions: `old` is 1.0 to 1.2.0 (health.getLiveness), `new` is 1.7.4 and later (each `HealthScope`). */
export type Generation = 'old' | 'new'
export type HealthScope = 'health' | 'readiness' | 'liveness'

export interface HealthReply {
  readonly checks: Readonly<Record<string, Record<string, unknown>>>
  readonly healthy: boolean
}

interface NodeCheck {
  readonly message: unknown
  readonly error: string | null
  readonly contiguousFailures: number
  readonly failingSince: UnixMs | null
}

/** Age of the newest network message of a healthy node. */
const QUIET_MS = 293
const GO_ZERO_TIME = '0001-01-01T00:00:00Z'

/** Renders the reply of the health API, whose worker runs every `everyMs`. */
export function healthReply(
  generation: Generation,
  scope: HealthScope,
  everyMs: number,
  { view, faults, now, nodeNow }: Situation,
): HealthReply {
  const ranAt = Math.floor(now / everyMs) * everyMs
  const skew = nodeNow - now
  const frozenAt = faults.get('frozen-heartbeat')?.since ?? Number.POSITIVE_INFINITY
  const heardAt = Math.min(ranAt - QUIET_MS, frozenAt)
  const failing = faults.get('failing-check')
  const unhealthy = faults.has('unhealthy')
  const booting = faults.has('bootstrapping')
  const head = view.block(null, view.tip(null))

  const checks = new Map<string, NodeCheck>(
    Object.entries(
      generation === 'old' ? oldChecks(heardAt + skew, booting) : newChecks(scope, ranAt - heardAt, booting, head),
    ),
  )
  if (failing) {
    const { name, contiguousFailures } = failing.fault
    checks.set(
      name,
      failingCheck(checks.get(name)?.message, `${name} is failing`, failing.since + skew, contiguousFailures),
    )
  }
  if (unhealthy) {
    const [name, since] = generation === 'old' ? ['chains.default.bootstrapped', 1] : ['network', 1]
    checks.set(
      name,
      failingCheck(checks.get(name)?.message, 'not connected to enough stake', ranAt + skew - everyMs, since),
    )
  }
  if (faults.has('no-evidence')) checks.clear()

  const render = generation === 'old' ? renderOld : renderNew
  const healthy = !unhealthy && !booting && (failing === undefined || failing.fault.tolerated)
  return {
    checks: Object.fromEntries([...checks].map(([name, check]) => [name, render(check, ranAt + skew)])),
    healthy,
  }
}

function passing(message: unknown): NodeCheck {
  return { message, error: null, contiguousFailures: 0, failingSince: null }
}

function failingCheck(message: unknown, error: string, failingSince: UnixMs, contiguousFailures: number): NodeCheck {
  return { message, error, contiguousFailures, failingSince }
}

function oldChecks(heartbeatAt: UnixMs, booting: boolean): Record<string, NodeCheck> {
  return {
    'chains.default.bootstrapped': booting
      ? failingCheck(undefined, 'default subnet not bootstrapped', heartbeatAt, 2)
      : passing({}),
    'network.validators.heartbeat': passing({ heartbeat: Math.floor(heartbeatAt / 1000) }),
  }
}

function newChecks(
  scope: HealthScope,
  quietMs: number,
  booting: boolean,
  head: Block | null,
): Record<string, NodeCheck> {
  const bootstrapped = booting ? failingCheck(['C'], 'chains not bootstrapped', 0, 2) : passing([])
  if (scope === 'readiness') return { bootstrapped }
  if (scope === 'liveness') return {}
  const chain = (height: number, id: string) => ({
    engine: {
      consensus: {
        lastAcceptedHeight: height,
        lastAcceptedID: id,
        longestProcessingBlock: '0s',
        processingBlocks: 0,
      },
      vm: null,
    },
    networking: { percentConnected: 0.9997, disconnectedValidators: [] },
  })
  const height = head?.height ?? 0
  return {
    C: passing(chain(height, `0x${head?.hash ?? ''}`)),
    P: passing(chain(Math.floor(height / 4), digest('P', height))),
    X: passing(chain(Math.floor(height / 64), digest('X', height))),
    bls: passing('node has the correct BLS key'),
    bootstrapped,
    database: passing(null),
    diskspace: passing({ availableDiskBytes: 1_316_134_912_000, availableDiskPercentage: 64 }),
    network: passing({
      connectedPeers: 1231,
      sendFailRate: 0.0007,
      timeSinceLastMsgReceived: goDuration(quietMs),
      timeSinceLastMsgSent: goDuration(QUIET_MS),
    }),
    router: passing({ longestRunningRequest: '1.2s', outstandingRequests: 12 }),
    validation: passing(null),
  }
}

/** `error` is a string; zero values are absent; `duration` is in nanoseconds. */
function renderNew({ message, error, contiguousFailures, failingSince }: NodeCheck, ranAt: UnixMs) {
  return {
    ...(message === null || message === undefined ? {} : { message }),
    ...(error === null ? {} : { error }),
    timestamp: goTime(ranAt),
    duration: 28_400,
    ...(contiguousFailures === 0 ? {} : { contiguousFailures }),
    ...(failingSince === null ? {} : { timeOfFirstFailure: failingSince === 0 ? GO_ZERO_TIME : goTime(failingSince) }),
  }
}

/** `error` is an object; every other member is always present. */
function renderOld({ message, error, contiguousFailures, failingSince }: NodeCheck, ranAt: UnixMs) {
  return {
    ...(message === undefined ? {} : { message }),
    ...(error === null ? {} : { error: { message: error } }),
    timestamp: goTime(ranAt),
    duration: 28_400,
    contiguousFailures,
    timeOfFirstFailure: failingSince === null ? null : goTime(failingSince),
  }
}

/** RFC 3339 with the nanoseconds of Go's clock. */
function goTime(at: UnixMs): string {
  return new Date(at).toISOString().replace('Z', '123456Z')
}

/** The format of Go's time.Duration: `293ms`, `1.5s`, `1m2.5s`, `1h0m0s`. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1000
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`
}
