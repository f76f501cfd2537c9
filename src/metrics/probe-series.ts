import { checkOutcome } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { Inspection } from '../core/verdict/single-poll.ts'
import { type BoardEntry, NO_PLACES, type Tally } from '../state/board.ts'
import { labelsOf } from './endpoint-labels.ts'
import { type OpenIncidents, renderEndpoints } from './endpoint-series.ts'
import { endOf, type Format } from './exposition-format.ts'
import { textOf } from './lines.ts'
import { headerOf, METRIC_NAMES, PREFIX } from './registry.ts'

/** The metrics of one endpoint as an on-demand poll found it. Counters are those of scheduled polls. */
export function renderProbe(
  entry: BoardEntry,
  { health, result, tookMs }: Inspection,
  incidents: OpenIncidents,
  format: Format,
  now: UnixMs,
): string {
  const lines = renderEndpoints(
    [{ ...entry, health, tally: tallyOf(entry.tally, result), places: NO_PLACES }],
    incidents,
    now,
  )
  const { bare } = labelsOf(health.endpoint)
  const success = health.verdict === 'up' || health.verdict === 'degraded'
  const own = [
    `${headerOf('probe_success', format)}${PREFIX}probe_success{${bare}} ${success ? 1 : 0}\n`,
    `${headerOf('probe_duration_seconds', format)}${PREFIX}probe_duration_seconds{${bare}} ${tookMs / 1000}\n`,
  ]
  const ofEndpoint = METRIC_NAMES.flatMap((name) => {
    const found = lines[name] ?? ''
    const text = typeof found === 'string' ? found : found.map(textOf).join('')
    return text === '' ? [] : [headerOf(name, format) + text]
  })
  return [...own, ...ofEndpoint, endOf(format)].join('')
}

/** Gauges show this poll. Counters do not count it: an increase that is gone at the next scrape looks like a reset. */
function tallyOf(tally: Tally, result: Inspection['result']): Tally {
  const checks = tally.checks.map((before) => {
    const outcome = checkOutcome(result, before.check)
    if (outcome === null) return before
    const { ok, durationMs } = outcome
    return {
      ...before,
      lastRunAt: result.startedAt,
      lastOk: ok,
      lastDurationMs: durationMs,
      lastSuccessAt: ok ? result.startedAt : before.lastSuccessAt,
      consecutiveFailures: ok ? 0 : before.consecutiveFailures + 1,
    }
  })
  return { ...tally, checks }
}
