import { yaml } from './yaml.ts'

/**
 * The Alertmanager configuration: one notification per network and alert, and none for alerts that a larger one
 * explains. The rules are silenced in that case as well; inhibition covers the first minute, when they are not yet.
 */
export function alertmanagerConfig(): string {
  const endpoints = ['scope = endpoint']
  return yaml({
    route: {
      receiver: 'operators',
      group_by: ['alertname', 'network'],
      group_wait: '30s',
      group_interval: '5m',
      repeat_interval: '4h',
      routes: [{ receiver: 'operators', matchers: ['severity = critical'], group_wait: '10s', repeat_interval: '1h' }],
    },
    // Add your own: webhook_configs, email_configs, pagerduty_configs.
    receivers: [{ name: 'operators' }],
    inhibit_rules: [
      inhibition('HeartlineChainHalted', endpoints, ['instance', 'network']),
      inhibition('HeartlineNetworkDown', endpoints, ['instance', 'network']),
      inhibition('HeartlineNetworkDown', ['alertname = HeartlineNetworkDegraded'], ['instance', 'network']),
      inhibition('HeartlineWrongNetwork', ['alertname = HeartlineEndpointDown'], ['instance', 'network', 'endpoint']),
      inhibition(
        'HeartlineEndpointStalled',
        ['alertname = HeartlineEndpointLagging'],
        ['instance', 'network', 'endpoint'],
      ),
      ...['Fast', 'Slow'].map((speed) =>
        inhibition(
          `HeartlineAvailabilityBurn${speed}`,
          [`alertname = HeartlineFreshnessBurn${speed}`],
          ['instance', 'network'],
        ),
      ),
      inhibition('HeartlineNetworkForked', ['alertname = HeartlineEndpointForked'], ['instance', 'network']),
      inhibition('HeartlineObserverImpaired', ['scope =~ "endpoint|network"'], ['instance']),
      inhibition('HeartlineObserverImpaired', ['alertname = HeartlineChecksStale'], ['instance']),
      inhibition('HeartlineSchedulerStuck', ['scope =~ "endpoint|network"'], ['instance']),
      inhibition(
        'HeartlineEndpointDown',
        ['scope = endpoint', 'alertname != HeartlineEndpointDown', 'severity = warning'],
        ['instance', 'network', 'endpoint'],
      ),
    ],
  })
}

function inhibition(source: string, targets: readonly string[], equal: readonly string[]): object {
  return { source_matchers: [`alertname = ${source}`], target_matchers: targets, equal }
}
