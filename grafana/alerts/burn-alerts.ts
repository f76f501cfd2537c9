import { BURN_RATES, OBJECTIVES } from '../thresholds.ts'
import { type Alert, type Alerts, EXPLAINED, OF_ENDPOINT } from './alert.ts'

const MAINTAINED = `unless on (${OF_ENDPOINT}) heartline_endpoint_state{state="maintenance"} == 1`
const AVAILABLE = `(heartline_endpoint_up ${MAINTAINED})`

/** Of each endpoint at each moment, 1 for what the status page counts as available, or as fresh. */
const GOOD = {
  availability: AVAILABLE,
  freshness: [
    `(${AVAILABLE}`,
    `* on (${OF_ENDPOINT}) (1 - max by (${OF_ENDPOINT}) (heartline_endpoint_condition{condition=~"lagging|stalled|forked"})))`,
  ].join(' '),
} as const

const WORDS = {
  availability: { title: 'Availability', bad: 'down' },
  freshness: { title: 'Freshness', bad: 'not at the head of its chain' },
} as const

/** The error budget of an endpoint is going faster than a month can bear, over a long window and still over a short one. */
export const burnAlerts: Alerts = ({ hold, window }) =>
  (['availability', 'freshness'] as const).flatMap((kind) =>
    (['fast', 'slow'] as const).map((speed): Alert => {
      const { rate, longSeconds, shortSeconds } = BURN_RATES[speed]
      const bound = Number((rate * (1 - OBJECTIVES[kind])).toFixed(6))
      const bad = (seconds: number) =>
        `(1 - avg_over_time(${GOOD[kind]}[${window(seconds)}:${window(Math.max(15, seconds / 60))}]))`
      const { title, bad: what } = WORDS[kind]
      return {
        name: `Heartline${title}Burn${speed === 'fast' ? 'Fast' : 'Slow'}`,
        scope: 'endpoint',
        severity: speed === 'fast' ? 'critical' : 'warning',
        number: `${bad(longSeconds)}\nand on (${OF_ENDPOINT}) ${bad(shortSeconds)} > ${bound}`,
        fires: { above: bound },
        hold: hold(120),
        summary: `{{ $labels.network }}/{{ $labels.endpoint }} misses its objective of ${kind}`,
        description: `{{ $labels.network }}/{{ $labels.endpoint }} was ${what} for {{ $value | humanizePercentage }} of the last ${longSeconds / 3600} h: ${rate} times as much as ${OBJECTIVES[kind] * 100} % allows is ${Number((bound * 100).toFixed(1))} %.`,
        silencedBy: EXPLAINED,
      }
    }),
  )
