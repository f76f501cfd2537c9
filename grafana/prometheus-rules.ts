import { expressionOf, runbookUrl } from './alerts/alert.ts'
import type { AlertGroup } from './alerts/alerts.ts'
import { yaml } from './yaml.ts'

/** The alerts as a Prometheus rule file. */
export function prometheusRules(groups: readonly AlertGroup[], runbooks?: string): string {
  return yaml({
    groups: groups.map(({ name, alerts }) => ({
      name,
      rules: alerts.map((alert) => ({
        alert: alert.name,
        expr: expressionOf(alert),
        for: alert.hold,
        labels: { severity: alert.severity, scope: alert.scope },
        annotations: {
          summary: alert.summary,
          description: alert.description,
          runbook_url: runbookUrl(alert.name, runbooks),
        },
      })),
    })),
  })
}
