import { expect, test } from 'vitest'
import { REJECTION_REASONS, RETRY_REASONS } from '../../src/core/routing/request-outcome.ts'
import { createGatewaySeries, type GatewayState } from '../../src/metrics/gateway-series.ts'

const STATE: GatewayState = {
  callers: [{ name: 'wallet' }, { name: 'shop' }],
  networks: [
    {
      name: 'ethereum',
      endpoints: [
        { endpoint: 'a', excluded: null },
        { endpoint: 'b', excluded: 'down' },
      ],
    },
    { name: 'avalanche', endpoints: [{ endpoint: 'a', excluded: null }] },
  ],
}

function filled() {
  const series = createGatewaySeries()
  for (const network of ['ethereum', 'avalanche']) {
    for (const caller of ['wallet', 'shop']) {
      series.answered(network, 'eth_chainId', caller, 'answered', 1.5, 0.15)
      series.answered(network, 'none', caller, 'unknown-method', null, null)
    }
    for (const endpoint of ['a', 'b']) series.attempted(network, endpoint, 'eth_chainId', 'timeout')
    series.rejected(network, 'unknown-method')
    series.retried(network, 'failed')
    series.coalesced(network)
    series.cacheLookup(network, 'hit')
    series.degraded(network)
  }
  series.rejected(null, 'unauthorized')
  return series
}

const textOf = (series: ReturnType<typeof filled>, state: GatewayState | null) =>
  Object.values(series.render(state)).join('')

test('every request is counted by its labels, and the buckets are fine enough for the overhead', () => {
  const text = textOf(filled(), STATE)

  expect(text).toContain(
    'heartline_gateway_requests_total{network="ethereum",operation="eth_chainId",caller="wallet",outcome="answered"} 1\n',
  )
  expect(text).toContain(
    'heartline_gateway_overhead_seconds_bucket{network="ethereum",operation="eth_chainId",le="0.0001"} 0\n',
  )
  expect(text).toContain(
    'heartline_gateway_overhead_seconds_bucket{network="ethereum",operation="eth_chainId",le="0.0002"} 2\n',
  )
  expect(text).toContain(
    'heartline_gateway_request_duration_seconds_sum{network="ethereum",operation="eth_chainId"} 0.003\n',
  )
  expect(text).not.toContain('duration_seconds_count{network="ethereum",operation="none"}')
  expect(text).toContain('heartline_gateway_eligible{network="ethereum",endpoint="b"} 0\n')
  expect(text).toContain('heartline_gateway_rejections_total{network="",reason="unauthorized"} 1\n')
  expect(text).toContain('heartline_gateway_cache_requests_total{network="ethereum",result="hit"} 1\n')
  expect(text).toContain('heartline_gateway_coalesced_total{network="ethereum"} 1\n')
  expect(text).toContain('heartline_gateway_degraded_total{network="ethereum"} 1\n')
  expect(text).toContain('heartline_gateway_retries_total{network="ethereum",reason="failed"} 1\n')
})

test('removed callers, endpoints and networks have no series', () => {
  const series = filled()
  const ethereum = { name: 'ethereum', endpoints: [{ endpoint: 'a', excluded: null }] }

  const text = textOf(series, { callers: [{ name: 'wallet' }], networks: [ethereum] })

  expect(text).toContain('caller="wallet"')
  expect(text).not.toContain('caller="shop"')
  expect(text).not.toContain('endpoint="b"')
  expect(text).not.toContain('avalanche')
  expect(textOf(series, STATE)).not.toContain('caller="shop"')
})

test('without a gateway there are no lines', () => {
  expect(textOf(filled(), null)).toBe('')
})

test('retries have series from 0 on, so that the first one is an increase', () => {
  const text = textOf(createGatewaySeries(), STATE)

  for (const reason of RETRY_REASONS) {
    expect(text).toContain(`heartline_gateway_retries_total{network="ethereum",reason="${reason}"} 0\n`)
  }
})

test('requests in flight are reported while they last', () => {
  const series = createGatewaySeries()
  series.inFlight('ethereum', 1)
  series.inFlight('ethereum', 1)
  series.inFlight('ethereum', -1)

  expect(textOf(series, STATE)).toContain('heartline_gateway_requests_in_flight{network="ethereum"} 1\n')
})

test('every reason for a rejection has a series from 0 on, so that the first rejection is an increase', () => {
  const series = createGatewaySeries()

  const before = textOf(series, STATE)
  series.rejected('ethereum', 'rate-limited')
  const after = textOf(series, STATE)

  for (const network of ['', 'ethereum', 'avalanche']) {
    for (const reason of REJECTION_REASONS) {
      expect(before).toContain(`heartline_gateway_rejections_total{network="${network}",reason="${reason}"} 0\n`)
    }
  }
  expect(after).toContain('heartline_gateway_rejections_total{network="ethereum",reason="rate-limited"} 1\n')
})
