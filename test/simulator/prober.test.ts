import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Family } from '../../src/core/network.ts'
import { checkOutcome } from '../../src/core/poll-result.ts'
import { createProber } from '../../src/nodes/probe.ts'
import type { Fault } from '../../src/simulator/fault.ts'
import type { NodeOptions } from '../../src/simulator/node.ts'
import { startNode, stopAfterTest, targetOf } from './ask.ts'

/** Both ends together: what the daemon's own prober makes of a simulated node, over real sockets. */
/** Of nodes that do not respond in time; all others have as long as a busy machine takes. */
const TIMEOUT_MS = 600
const AMPLE_MS = 20_000
const signal = new AbortController().signal
const closing: { close(): void }[] = []
afterEach(() => {
  for (const prober of closing.splice(0)) prober.close()
})

async function visit(kind: NodeOptions['kind'], faults: readonly Fault[] = [], timeoutMs = AMPLE_MS) {
  const node = stopAfterTest(await startNode(systemClock, kind))
  for (const fault of faults) node.inject(fault)
  const target = targetOf(kind, node.url, timeoutMs)
  const prober = createProber({ clock: systemClock })
  closing.push(prober)
  prober.retarget([target])
  const result = await prober.poll(target.endpoint, signal)
  return { node, result, head: checkOutcome(result, 'head'), liveness: result.liveness }
}

const kinds: readonly [title: string, kind: NodeOptions['kind']][] = [
  ['ethereum', { family: 'ethereum' }],
  ['avalanche of today', { family: 'avalanche', generation: 'new' }],
  ['avalanche of 2020', { family: 'avalanche', generation: 'old' }],
  ['multiversx proxy', { family: 'multiversx' }],
  ['multiversx observer', { family: 'multiversx', kind: 'observer', shard: 2 }],
]

describe('the prober reads a simulated node', () => {
  test.each(kinds)('%s: well, with its head and its health', async (_, kind) => {
    const { node, result, liveness } = await visit(kind)

    for (const { shard, outcome } of result.heads) {
      expect(outcome).toMatchObject({ ok: true })
      expect(Math.abs((outcome.ok ? outcome.value.height : 0) - node.height(shard))).toBeLessThanOrEqual(1)
    }
    if (kind.family === 'avalanche') {
      expect(liveness).toMatchObject({ ok: true, value: { healthy: true } })
      const heartbeatAt = liveness?.ok ? liveness.value.heartbeatAt : null
      expect(Math.abs(systemClock.now() - (heartbeatAt ?? 0))).toBeLessThan(32_000)
    }
    expect(Math.abs(result.clockSkewMs ?? Number.NaN)).toBeLessThan(1500)
  })

  test.each<[failure: string, fault: Fault, family?: Family]>([
    ['wrong-network', { kind: 'wrong-chain', chainId: 5 }],
    ['reset', { kind: 'reset' }],
    ['timeout', { kind: 'hang' }],
    ['timeout', { kind: 'slow', delayMs: 5000 }],
    ['timeout', { kind: 'drip', bytes: 1, everyMs: 50 }],
    ['timeout', { kind: 'endless', everyMs: 20 }],
    ['truncated', { kind: 'truncated' }],
    ['not-http', { kind: 'not-http' }],
    ['http', { kind: 'http', status: 503 }],
    ['rate-limited', { kind: 'rate-limit', retryAfterMs: 5000 }],
    ['rate-limited', { kind: 'rate-limit', retryAfterMs: null }, 'multiversx'],
    ['redirect', { kind: 'redirect' }],
    ['http', { kind: 'valid-503' }],
    ['rpc', { kind: 'error-200' }],
    ['rpc', { kind: 'error-200' }, 'multiversx'],
    ['not-json', { kind: 'empty' }],
    ['not-json', { kind: 'html' }],
    ['not-json', { kind: 'garbage' }],
    ['too-large', { kind: 'huge', bytes: 2 ** 30 }],
    ['too-large', { kind: 'gzip-bomb', bytes: 2 ** 26 }],
    ['too-deep', { kind: 'deep', levels: 100_000 }],
    ['wrong-id', { kind: 'wrong-id' }],
    ['malformed', { kind: 'bad-height', value: 'negative' }],
    ['malformed', { kind: 'bad-height', value: 'decimal' }],
    ['malformed', { kind: 'bad-height', value: 'unsafe' }],
    ['malformed', { kind: 'bad-height', value: 'latest' }],
    ['malformed', { kind: 'bad-height', value: 'negative' }, 'multiversx'],
    ['malformed', { kind: 'bad-height', value: 'unsafe' }, 'multiversx'],
    ['http', { kind: 'bootstrapping' }, 'avalanche'],
  ])('%s: %j', async (failure, fault, family = 'ethereum') => {
    const { head } = await visit({ family }, [fault], failure === 'timeout' ? TIMEOUT_MS : AMPLE_MS)

    expect(head).toMatchObject({ ok: false, failure: { kind: failure } })
  })

  test('members named __proto__ change nothing', async () => {
    const { head } = await visit({ family: 'ethereum' }, [{ kind: 'proto' }])

    expect(head).toMatchObject({ ok: true })
    expect('polluted' in {}).toBe(false)
  })

  test.each(['old', 'new'] as const)('an unhealthy avalanche node says so (%s)', async (generation) => {
    const { liveness } = await visit({ family: 'avalanche', generation }, [{ kind: 'unhealthy' }])

    expect(liveness).toMatchObject({ ok: true, value: { healthy: false } })
    expect(liveness?.ok && liveness.value.checks.some(({ healthy }) => !healthy)).toBe(true)
  })

  test('a skewed clock is seen', async () => {
    const { result } = await visit({ family: 'ethereum' }, [{ kind: 'clock-skew', byMs: -90_000 }])

    expect(Math.abs((result.clockSkewMs ?? 0) + 90_000)).toBeLessThan(1500)
  })
})
