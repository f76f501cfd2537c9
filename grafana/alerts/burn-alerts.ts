import { BURN_RATES, OBJECTIVES } from '../alert-thresholds.ts'
import { type Alert, type Alerts, OF_ENDPOINT, OF_NETWORK } from './alert.ts'

/** The error budget of a network burns too fast, over a long window and still over a short one. */
export const burnAlerts: Alerts = ({ hold, window }) =>
  (['availability', 'freshness'] as const).flatMap((kind) =>
    (['fast', 'slow'] as const).map((speed): Alert => {
      const { rate, longSeconds, shortSeconds, lookSeconds } = BURN_RATES[speed]
      const bound = burnBound(kind, speed)
      const bad = (seconds: number, every: number) => `(${badShareOf(kind, window(seconds), window(every))})`
      const { title, bad: what } = WORDS[kind]
      return {
        name: `Heartline${title}Burn${speed === 'fast' ? 'Fast' : 'Slow'}`,
        scope: 'network',
        severity: speed === 'fast' ? 'critical' : 'warning',
        number: `${bad(longSeconds, lookSeconds)}\nand on (${OF_NETWORK}) ${bad(shortSeconds, lookSeconds / 2)} > ${bound}`,
        fires: { above: bound },
        hold: hold(120),
        summary: `{{ $labels.network }} misses its ${kind} objective`,
        description: `{{ $labels.network }} had ${what} for {{ $value | humanizePercentage }} of the last ${longSeconds / 3600} h. The alert bound is ${percent(bound)}, ${rate} times the rate that an objective of ${percent(OBJECTIVES[kind])} allows.`,
        silencedBy: ['impaired'],
      }
    }),
  )

type Objective = keyof typeof OBJECTIVES

const WORDS = {
  availability: { title: 'Availability', bad: 'no endpoint that was up' },
  freshness: { title: 'Freshness', bad: 'no endpoint at the head of its chain' },
} as const

/**
 * 1 for each network at each moment at which at least one of its endpoints is available, or fresh, as on the status page.
 * One bad node of several should not page. Planned maintenance is excluded.
 */
function goodOf(kind: Objective, filter = ''): string {
  const maintenance = [filter, 'state="maintenance"'].filter((part) => part !== '').join(',')
  const isStale = [filter, 'condition=~"lagging|stalled|forked"'].filter((part) => part !== '').join(',')
  const available = `heartline_endpoint_up{${filter}} unless on (${OF_ENDPOINT}) heartline_endpoint_state{${maintenance}} == 1`
  // With `metrics.sparse` a condition that is 0 has no series.
  const stale = `max by (${OF_ENDPOINT}) (heartline_endpoint_condition{${isStale}} or on (${OF_ENDPOINT}) 0 * heartline_endpoint_up{${filter}})`
  const fresh = `(${available}) * on (${OF_ENDPOINT}) (1 - ${stale})`
  return `max by (${OF_NETWORK}) (${kind === 'availability' ? available : fresh})`
}

/**
 * The bad share of the whole window. Unobserved time does not count as bad: a Heartline that has run for a minute has
 * not seen an hour.
 */
export function badShareOf(kind: Objective, window: string, step: string, filter = ''): string {
  return `sum_over_time((1 - ${goodOf(kind, filter)})[${window}:${step}]) / scalar(count_over_time(vector(1)[${window}:${step}]))`
}

/** The bad share of time above which the budget burns at this rate. */
export function burnBound(kind: Objective, speed: keyof typeof BURN_RATES): number {
  return Number((BURN_RATES[speed].rate * (1 - OBJECTIVES[kind])).toFixed(6))
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}
