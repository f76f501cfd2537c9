import { expect, test } from 'vitest'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { METRICS } from '../../src/metrics/registry.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { endpoint, network } from '../support/network.ts'
import { createWorld, QUIET_STORE } from '../support/world.ts'

async function both(endpoints = [endpoint('a'), endpoint('b')]): Promise<{ text: string; openMetrics: string }> {
  const clock = createFakeClock()
  const world = createWorld(clock, [{ network: network(), endpoints }])
  await world.pollAll()
  const metrics = createMetrics({
    board: world.board,
    incidents: createIncidentLog(),
    clock,
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: clock.now() }),
    observer: () => ({ impaired: false, judging: true }),
  })
  metrics.checkFinished('ethereum', 'head', 12)
  metrics.httpRequest('/metrics', 200, 12)
  return { text: await metrics.render('text'), openMetrics: await metrics.render('openmetrics') }
}

const samplesOf = (text: string) => text.split('\n').filter((line) => line.startsWith('heartline_'))

test('chosen labels are on every series of an endpoint, escaped, and empty where it has no such label', async () => {
  const { text, openMetrics } = await both([
    endpoint('a', { metricLabels: { region: 'fra "1"\\' } }),
    endpoint('b', { metricLabels: { region: '' } }),
  ])

  for (const lines of [samplesOf(text), samplesOf(openMetrics)]) {
    const ofEndpoints = lines.filter((line) => /\{network="ethereum",endpoint="/.test(line))
    const labelled = ofEndpoints.filter((line) =>
      /endpoint="(a"(,family="ethereum",tier="primary")?,label_region="fra \\"1\\"\\\\"|b"(,family="ethereum",tier="primary")?,label_region="")[,}]/.test(
        line,
      ),
    )
    expect(ofEndpoints.length).toBeGreaterThan(60)
    expect(labelled).toEqual(ofEndpoints)
    expect(lines.filter((line) => line.includes('label_'))).toEqual(ofEndpoints)
  }
})

test('OpenMetrics has the same series as the text format', async () => {
  const { text, openMetrics } = await both()

  expect(samplesOf(text).length).toBeGreaterThan(100)
  expect(samplesOf(openMetrics)).toEqual(samplesOf(text))
})

test('every family of OpenMetrics has one header, with a name without _total, followed by its own samples only', async () => {
  const { openMetrics } = await both()
  const lines = openMetrics.trimEnd().split('\n')
  const seen = new Set<string>()
  let family = ''
  let type = ''

  expect(lines.pop()).toBe('# EOF')
  for (const line of lines) {
    const opened = /^# TYPE (\S+) (\S+)$/.exec(line)
    if (opened !== null) {
      family = opened[1]!
      type = opened[2]!
      expect(seen.has(family), family).toBe(false)
      expect(['gauge', 'counter', 'histogram', 'summary']).toContain(type)
      seen.add(family)
      continue
    }
    if (line.startsWith('#')) {
      expect(line).toMatch(new RegExp(`^# (HELP ${family} \\S|UNIT ${family} (seconds|bytes)$)`))
      continue
    }
    const suffixes = { gauge: '', counter: '_total', histogram: '_(bucket|sum|count)', summary: '(_sum|_count)?' }
    const suffix = suffixes[type as keyof typeof suffixes]
    expect(line).toMatch(new RegExp(`^${family}${suffix}(\\{[^\\n]*\\})? [+-]?[0-9.e+-]+$`))
  }
  expect(seen.has('heartline_checks')).toBe(true)
  expect(seen.has('process_cpu_user_seconds')).toBe(true)
})

test('a family has a UNIT line exactly if its name ends with a unit', async () => {
  const { openMetrics } = await both()

  const said = [...openMetrics.matchAll(/^# UNIT (heartline_\S+) (\S+)$/gm)]
  for (const [, family, unit] of said) expect(family!.endsWith(`_${unit}`)).toBe(true)
  expect(said.map(([, family]) => family)).toContain('heartline_check_duration_seconds')
  expect(said.map(([, family]) => family)).not.toContain('heartline_checks')
})

test('integer bucket bounds have a fraction, as OpenMetrics requires', async () => {
  const { openMetrics } = await both()

  const borders = [...openMetrics.matchAll(/le="([^"]+)"/g)].map(([, border]) => border!)
  expect(borders).toContain('10.0')
  for (const border of borders) expect(border).toMatch(/^(\d+\.\d+|\+Inf)$/)
})

/** Names that others were promised: section by section, as they look them up. */
const PROMISED = `
endpoint_info endpoint_up endpoint_state endpoint_condition endpoint_state_changes_total endpoint_block_height
endpoint_block_timestamp_seconds endpoint_block_lag endpoint_last_advance_timestamp_seconds endpoint_reorgs_total
endpoint_height_regressions_total endpoint_clock_skew_seconds endpoint_tls_not_after_timestamp_seconds
network_block_height network_block_timestamp_seconds network_branches network_endpoints network_halted network_forked
network_threshold_lag_blocks network_threshold_stall_seconds network_threshold_heartbeat_seconds
check_success check_last_run_timestamp_seconds check_last_success_timestamp_seconds check_consecutive_failures checks_total
node_requests_total check_failures_total check_duration_seconds check_last_duration_seconds node_healthy node_heartbeat_timestamp_seconds
node_check_contiguous_failures node_check_first_failure_timestamp_seconds
gateway_requests_total gateway_request_duration_seconds gateway_overhead_seconds gateway_attempts_total
gateway_requests_in_flight gateway_eligible gateway_retries_total gateway_cache_requests_total gateway_coalesced_total
gateway_rejections_total build_info start_timestamp_seconds config_last_reload_successful
config_last_reload_success_timestamp_seconds config_endpoints scheduler_lag_seconds scheduler_skips_total
scheduler_last_round_timestamp_seconds clock_jumps_total observer_impaired observer_judging store_rows_written_total
store_write_failures_total store_rows_dropped_total store_queue_rows store_commit_duration_seconds store_degraded
store_database_bytes store_filesystem_free_bytes http_requests_total http_request_duration_seconds`

test('no metric that alert rules and dashboards of users rely on is missing', () => {
  const promised = PROMISED.trim().split(/\s+/)

  expect(promised.filter((name) => !(name in METRICS))).toEqual([])
})

test('the lag of the event loop is absent until it was measured', async () => {
  const { text, openMetrics } = await both()

  for (const render of [text, openMetrics]) {
    const least = /^nodejs_eventloop_lag_min_seconds (\S+)$/m.exec(render)?.[1]
    expect(Number(least ?? 0)).toBeLessThan(3600)
    expect(render.includes('\nnodejs_eventloop_lag_mean_seconds ')).toBe(least !== undefined)
    expect(render).toMatch(/^nodejs_eventloop_lag_seconds \S+$/m)
  }
})
