import { type Addresses, expressionOf, linksOf } from './alerts/alert.ts'
import type { AlertGroup } from './alerts/alerts.ts'
import { yaml } from './yaml.ts'

/** The alerts as a Prometheus rule file. */
export function prometheusRules(groups: readonly AlertGroup[], addresses?: Addresses): string {
  return yaml({
    groups: groups.map(({ name, alerts, keepFiringFor }) => ({
      name,
      rules: alerts.map((alert) => ({
        alert: alert.name,
        expr: expressionOf(alert),
        for: alert.hold,
        ...(keepFiringFor === null ? {} : { keep_firing_for: keepFiringFor }),
        labels: { severity: alert.severity, scope: alert.scope },
        annotations: {
          summary: alert.summary,
          description: alert.description,
          ...linksOf(alert, addresses),
        },
      })),
    })),
  })
}
