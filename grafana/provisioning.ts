import { DATA_SOURCE_UID } from './uids.ts'
import { yaml } from './yaml.ts'

/** The data source, with the uid that rules refer to. */
export function dataSource(): string {
  return yaml({
    apiVersion: 1,
    datasources: [
      {
        name: 'Heartline Prometheus',
        uid: DATA_SOURCE_UID,
        type: 'prometheus',
        access: 'proxy',
        orgId: 1,
        url: 'http://prometheus:9090',
        isDefault: true,
        editable: false,
        jsonData: { httpMethod: 'POST', prometheusType: 'Prometheus', timeInterval: '15s' },
      },
    ],
  })
}

/** The path at which compose.yaml mounts `grafana/dashboards`. */
const DASHBOARDS_PATH = '/etc/grafana/dashboards/heartline'

export function dashboardProvider(): string {
  return yaml({
    apiVersion: 1,
    providers: [
      {
        name: 'heartline',
        orgId: 1,
        folder: 'Heartline',
        type: 'file',
        disableDeletion: false,
        updateIntervalSeconds: 30,
        allowUiUpdates: false,
        options: { path: DASHBOARDS_PATH },
      },
    ],
  })
}

/**
 * An example: you must set the address, and a policy replaces all existing ones. Grafana ignores the file by its extension.
 */
export function contactPointExample(): string {
  return yaml({
    apiVersion: 1,
    contactPoints: [
      {
        orgId: 1,
        name: 'heartline-operators',
        receivers: [
          {
            uid: 'heartline-webhook',
            type: 'webhook',
            settings: { url: '${HEARTLINE_WEBHOOK}', httpMethod: 'POST' },
          },
        ],
      },
    ],
    policies: [
      {
        orgId: 1,
        receiver: 'heartline-operators',
        group_by: ['alertname', 'network'],
        group_wait: '30s',
        group_interval: '5m',
        repeat_interval: '4h',
        routes: [
          {
            receiver: 'heartline-operators',
            object_matchers: [['severity', '=', 'critical']],
            group_wait: '10s',
            repeat_interval: '1h',
          },
        ],
      },
    ],
  })
}
