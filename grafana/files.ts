import { alertmanagerConfig } from './alertmanager.ts'
import type { Addresses } from './alerts/alert.ts'
import { alertGroups } from './alerts/alerts.ts'
import { dashboards } from './boards/boards.ts'
import { grafanaRules } from './grafana-rules.ts'
import { REAL_TIME } from './pace.ts'
import { prometheusRules } from './prometheus-rules.ts'
import { contactPointExample, dashboardProvider, dataSource } from './provisioning.ts'

/** Every generated file, by its path in the repository. */
export function generatedFiles(addresses?: Addresses): Readonly<Record<string, string>> {
  const groups = alertGroups(REAL_TIME)
  return {
    'grafana/prometheus/heartline.rules.yml': prometheusRules(groups, addresses),
    'grafana/prometheus/alertmanager.yml': alertmanagerConfig(),
    'grafana/provisioning/alerting/heartline-rules.yaml': grafanaRules(groups, addresses),
    'grafana/provisioning/alerting/contact-points.yaml.example': contactPointExample(),
    'grafana/provisioning/dashboards/heartline.yaml': dashboardProvider(),
    'grafana/provisioning/datasources/heartline.yaml': dataSource(),
    ...Object.fromEntries(
      Object.entries(dashboards()).map(([name, dashboard]) => [
        `grafana/dashboards/${name}.json`,
        `${JSON.stringify(dashboard, null, 2)}\n`,
      ]),
    ),
  }
}
