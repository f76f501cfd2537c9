import { panelOf } from './alert-panels.ts'
import { type Addresses, type Alert, linksOf, unsilenced } from './alerts/alert.ts'
import type { AlertGroup } from './alerts/alerts.ts'
import { DATA_SOURCE_UID } from './uids.ts'
import { yaml } from './yaml.ts'

/**
 * The alerts as Grafana rules, in the format of its provisioning files: A is the number, B is the threshold. A missing
 * series is normal: a removed endpoint must not page, and `HeartlineAbsent` fires when all series are missing.
 */
export function grafanaRules(groups: readonly AlertGroup[], addresses?: Addresses): string {
  return yaml({
    apiVersion: 1,
    ...(DELETED_UIDS.length === 0 ? {} : { deleteRules: DELETED_UIDS.map((uid) => ({ orgId: 1, uid })) }),
    groups: groups.map(({ name, alerts, keepFiringFor }) => ({
      orgId: 1,
      name,
      folder: FOLDER,
      interval: INTERVAL,
      rules: alerts.map((alert) => ruleOf(alert, keepFiringFor, addresses)),
    })),
  })
}

/** Uids of alerts that were once shipped: Grafana keeps a provisioned rule until a file deletes it. */
const DELETED_UIDS: readonly string[] = []
const FOLDER = 'Heartline'
const INTERVAL = '30s'

/** Grafana allows 40 characters. */
function uidOf({ name }: Pick<Alert, 'name'>): string {
  const kebab = name
    .replace(/^Heartline/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()
  return `heartline-${kebab}`
}

function ruleOf(alert: Alert, keepFiringFor: string | null, addresses?: Addresses): object {
  const relativeTimeRange = { from: 600, to: 0 }
  const [type, bound] = 'above' in alert.fires ? ['gt', alert.fires.above] : ['lt', alert.fires.below]
  return {
    uid: uidOf(alert),
    title: alert.name,
    condition: 'B',
    data: [
      {
        refId: 'A',
        relativeTimeRange,
        datasourceUid: DATA_SOURCE_UID,
        model: {
          refId: 'A',
          datasource: { type: 'prometheus', uid: DATA_SOURCE_UID },
          expr: unsilenced({ ...alert, number: `(\n${alert.number}\n)` }),
          instant: true,
          range: false,
          intervalMs: 1000,
          maxDataPoints: 43_200,
        },
      },
      {
        refId: 'B',
        relativeTimeRange,
        datasourceUid: '__expr__',
        model: {
          refId: 'B',
          datasource: { type: '__expr__', uid: '__expr__' },
          type: 'threshold',
          expression: 'A',
          conditions: [{ evaluator: { type, params: [bound] } }],
        },
      },
    ],
    ...panelOf(alert.name),
    noDataState: 'OK',
    execErrState: 'Error',
    for: alert.hold,
    ...(keepFiringFor === null ? {} : { keepFiringFor }),
    labels: { severity: alert.severity, scope: alert.scope },
    annotations: {
      summary: inGrafana(alert.summary),
      description: inGrafana(alert.description),
      ...linksOf(alert, addresses),
    },
    isPaused: false,
  }
}

/** In Grafana `$value` describes all queries as text; the number is `$values.A.Value`. */
function inGrafana(template: string): string {
  return template.replaceAll('$value', '$values.A.Value')
}
