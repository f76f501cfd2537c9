import { THRESHOLDS } from '../thresholds.ts'
import { type Alert, type Alerts, OF_ENDPOINT, OURS } from './alert.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
const FREE = 'heartline_store_filesystem_free_bytes'

/** What is wrong with Heartline itself: while one of these fires, silence means nothing. */
export const heartlineAlerts: Alerts = ({ hold, window }) => [
  of({
    name: 'HeartlineAbsent',
    severity: 'critical',
    number: [
      '(',
      `  group by (${OURS}) (last_over_time(heartline_build_info[${window(HOUR)}]))`,
      `  or ${unreached(window(WEEK))}`,
      `) unless on (${OURS}) heartline_build_info`,
      // None at all; once for each that is still a target is enough.
      `or absent(last_over_time(heartline_build_info[${window(HOUR)}])) unless on () ${unreached(window(WEEK))}`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(3 * MINUTE),
    summary: 'Heartline does not answer its scrapes',
    description:
      'Nothing is watched{{ with $labels.instance }} by {{ . }}{{ end }}: Prometheus gets no metrics of Heartline. Missing: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineSchedulerStuck',
    severity: 'critical',
    number: 'time() - heartline_scheduler_last_round_timestamp_seconds',
    fires: { above: THRESHOLDS.schedulerSilentSeconds },
    hold: hold(MINUTE),
    summary: 'The scheduler of {{ $labels.instance }} stands still',
    description: '{{ $labels.instance }} has not looked for polls that are due for {{ $value | humanizeDuration }}.',
  }),
  of({
    name: 'HeartlineChecksStale',
    severity: 'warning',
    number: [
      `(time() - max by (${OF_ENDPOINT}) (heartline_check_last_run_timestamp_seconds))`,
      `and on (${OF_ENDPOINT}) heartline_endpoint_state{state="unknown"} == 1`,
      `or on (${OF_ENDPOINT}) (`,
      `  max by (${OF_ENDPOINT}) (heartline_endpoint_state{state="unknown"} == 1)`,
      `  * on (${OURS}) group_left () (time() - heartline_start_timestamp_seconds)`,
      ')',
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    silencedBy: ['impaired'],
    summary: 'Nothing is known of {{ $labels.network }}/{{ $labels.endpoint }}',
    description:
      'Heartline has no result of {{ $labels.network }}/{{ $labels.endpoint }} that still counts; the latest check ran {{ $value | humanizeDuration }} ago.',
  }),
  of({
    name: 'HeartlineStoreDegraded',
    severity: 'critical',
    number: `(heartline_store_degraded == 1) * on (${OURS}) heartline_config_endpoints`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} cannot write its history',
    description:
      'The history of {{ $value | printf "%.0f" }} endpoints is not being written by {{ $labels.instance }}.',
  }),
  of({
    name: 'HeartlineDiskFilling',
    severity: 'warning',
    number: [
      `${FREE} < ${THRESHOLDS.diskFreeBytes}`,
      // Of a few minutes nothing follows: a store that begins writes its reserve.
      `or (${FREE} and predict_linear(${FREE}[${window(6 * HOUR)}], ${DAY}) < 0 and ${FREE} offset ${window(30 * MINUTE)})`,
    ].join('\n'),
    // A disk with nothing left must fire as well.
    fires: { above: -1 },
    hold: hold(15 * MINUTE),
    summary: 'The disk of {{ $labels.instance }} fills up',
    description:
      'The file system of the store of {{ $labels.instance }} has {{ $value | humanize1024 }}B left, or will be full within a day.',
  }),
  of({
    name: 'HeartlineConfigRejected',
    severity: 'warning',
    number: [
      'time() - heartline_config_last_reload_success_timestamp_seconds',
      `and on (${OURS}) heartline_config_last_reload_successful == 0`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} refused its new configuration',
    description:
      '{{ $labels.instance }} runs with the configuration of {{ $value | humanizeDuration }} ago: the new one has a mistake.',
  }),
  of({
    name: 'HeartlineObserverImpaired',
    severity: 'warning',
    number: `(heartline_observer_impaired == 1) * on (${OURS}) heartline_config_endpoints`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} cannot judge nodes',
    description:
      '{{ $labels.instance }} is itself not fit to judge its {{ $value | printf "%.0f" }} endpoints: its own network, clock or machine is in trouble.',
  }),
]

/** Still a target, so not taken out of service, however long it has been gone. */
function unreached(within: string): string {
  return `group by (${OURS}) (up == 0 and on (${OURS}) last_over_time(heartline_build_info[${within}]))`
}

function of(alert: Omit<Alert, 'scope' | 'silencedBy'> & Partial<Pick<Alert, 'silencedBy'>>): Alert {
  return { silencedBy: [], ...alert, scope: 'heartline' }
}
