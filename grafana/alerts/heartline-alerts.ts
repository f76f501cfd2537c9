import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Alert, type Alerts, NOT_JUDGING, OF_ENDPOINT, OF_HEARTLINE } from './alert.ts'

/** Faults of Heartline itself. While one of these fires, the absence of other alerts means nothing. */
export const heartlineAlerts: Alerts = ({ hold, window }) => [
  of({
    name: 'HeartlineAbsent',
    severity: 'critical',
    number: [
      '(',
      `  group by (${OF_HEARTLINE}) (last_over_time(heartline_build_info[${window(HOUR)}]))`,
      `  or ${unreached(window(WEEK))}`,
      `) unless on (${OF_HEARTLINE}) heartline_build_info`,
      // No series of any Heartline, unless the alert already fires for each target.
      `or absent(last_over_time(heartline_build_info[${window(HOUR)}])) unless on () ${unreached(window(WEEK))}`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(3 * MINUTE),
    summary: 'Heartline does not answer scrapes',
    description:
      'Nothing is monitored{{ with $labels.instance }} by {{ . }}{{ end }}: Prometheus receives no metrics of Heartline. Missing: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineSchedulerStuck',
    severity: 'critical',
    number: 'time() - heartline_scheduler_last_round_timestamp_seconds',
    fires: { above: THRESHOLDS.schedulerSilentSeconds },
    hold: hold(MINUTE),
    summary: 'The scheduler of {{ $labels.instance }} is stuck',
    description: 'The scheduler of {{ $labels.instance }} has not run for {{ $value | humanizeDuration }}.',
  }),
  of({
    name: 'HeartlineChecksStale',
    leadsTo: 'endpoint',
    severity: 'warning',
    number: [
      `(time() - max by (${OF_ENDPOINT}) (heartline_check_last_run_timestamp_seconds))`,
      `and on (${OF_ENDPOINT}) heartline_endpoint_state{state="unknown"} == 1`,
      `or on (${OF_ENDPOINT}) (`,
      `  max by (${OF_ENDPOINT}) (heartline_endpoint_state{state="unknown"} == 1)`,
      `  * on (${OF_HEARTLINE}) group_left () (time() - heartline_start_timestamp_seconds)`,
      ')',
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    silencedBy: ['impaired'],
    summary: 'The state of {{ $labels.network }}/{{ $labels.endpoint }} is unknown',
    description:
      'Heartline has no current result of {{ $labels.network }}/{{ $labels.endpoint }}; the latest check ran {{ $value | humanizeDuration }} ago.',
  }),
  of({
    name: 'HeartlineStoreDegraded',
    severity: 'critical',
    number: `(heartline_store_degraded == 1) * on (${OF_HEARTLINE}) heartline_config_endpoints`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} cannot write its history',
    description: '{{ $labels.instance }} cannot write the history of {{ $value | printf "%.0f" }} endpoints.',
  }),
  of({
    name: 'HeartlineDiskFilling',
    severity: 'warning',
    number: [
      // A restart, of which a full disk may be the cause, does not begin the long `hold` again.
      `last_over_time(${FREE}[${window(5 * MINUTE)}]) < ${THRESHOLDS.diskFreeBytes}`,
      `or (last_over_time(${FREE}[${window(5 * MINUTE)}]) and predict_linear(${FREE}[${window(6 * HOUR)}], ${DAY}) < 0`,
      // A few minutes are no trend: a new store first writes its reserve.
      `and last_over_time(${FREE}[${window(5 * MINUTE)}] offset ${window(30 * MINUTE)}))`,
    ].join('\n'),
    // A full disk must fire as well.
    fires: { above: -1 },
    hold: hold(15 * MINUTE),
    summary: 'The disk of {{ $labels.instance }} is filling up',
    description:
      'The file system of the store of {{ $labels.instance }} has {{ $value | humanize1024 }}B left, or will be full within a day.',
  }),
  of({
    name: 'HeartlineConfigRejected',
    severity: 'warning',
    number: [
      'time() - heartline_config_last_reload_success_timestamp_seconds',
      `and on (${OF_HEARTLINE}) heartline_config_last_reload_successful == 0`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} rejected its new configuration',
    description:
      '{{ $labels.instance }} still uses the configuration of {{ $value | humanizeDuration }} ago, because the new one has an error.',
  }),
  of({
    name: 'HeartlineObserverImpaired',
    severity: 'warning',
    number: `(${NOT_JUDGING}) * on (${OF_HEARTLINE}) heartline_config_endpoints`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} is impaired',
    description:
      '{{ $labels.instance }} cannot judge its {{ $value | printf "%.0f" }} endpoints, because its own network, clock or machine has a problem.',
  }),
  of({
    name: 'HeartlineNotificationsFailing',
    leadsTo: 'notifications',
    severity: 'warning',
    number: [
      `(heartline_notification_oldest_seconds > bool ${THRESHOLDS.notificationWaitSeconds}) * heartline_notification_queue`,
      `+ on (${OF_HEARTLINE})`,
      `sum by (${OF_HEARTLINE}) (increase(heartline_notifications_total{result=~"rejected|expired"}[${window(15 * MINUTE)}]))`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.instance }} cannot deliver notifications',
    description:
      '{{ $labels.instance }} could not deliver {{ $value | printf "%.0f" }} notifications: they were rejected, have expired, or have waited too long.',
  }),
]

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
const FREE = 'heartline_store_filesystem_free_bytes'

/** A Heartline that is still a target, and so was not taken out of service. */
function unreached(within: string): string {
  return `group by (${OF_HEARTLINE}) (up == 0 and on (${OF_HEARTLINE}) last_over_time(heartline_build_info[${within}]))`
}

function of(alert: Omit<Alert, 'scope' | 'silencedBy'> & Partial<Pick<Alert, 'silencedBy'>>): Alert {
  return { silencedBy: [], ...alert, scope: 'heartline' }
}
