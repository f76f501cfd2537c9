import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { checkout } from '../support/project.ts'

/** One query, and its location. */
export interface Query {
  readonly place: string
  readonly expr: string
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource: { readonly uid: string }
  readonly targets: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat?: string
    readonly instant?: boolean
  }[]
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string; readonly mappings?: readonly unknown[] } }
}

export interface KeptDashboard {
  readonly file: string
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly links: readonly { readonly url?: string; readonly type: string }[]
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query?: string | { readonly query: string } }[]
  }
}

/** The generated dashboards. */
export function keptDashboards(): readonly KeptDashboard[] {
  const folder = join(checkout, 'grafana/dashboards')
  return readdirSync(folder).map((file) => ({ file, ...JSON.parse(readFileSync(join(folder, file), 'utf8')) }))
}

/** The values that Grafana would insert for its variables. */
export function filledIn(expr: string, { rateInterval = '5m', range = '1h' } = {}): string {
  return expr
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$__range', range)
    .replaceAll(/\$(instance|network|endpoint)\b/g, '.*')
}

export function panelQueries(): readonly Query[] {
  return keptDashboards().flatMap(({ file, panels }) =>
    panels.flatMap(({ title, targets }) =>
      targets.map(({ refId, expr }) => ({ place: `${file}: ${title} ${refId}`, expr: filledIn(expr) })),
    ),
  )
}

/** `label_values(series, label)` as a query for that label. */
export function variableQueries(): readonly Query[] {
  return keptDashboards().flatMap(({ file, templating }) =>
    templating.list.flatMap(({ name, query }) => {
      const [, series, label] = /^label_values\((.*), (\w+)\)$/.exec(typeof query === 'object' ? query.query : '') ?? []
      return series === undefined
        ? []
        : [{ place: `${file}: $${name}`, expr: `count by (${label}) (${filledIn(series)})` }]
    }),
  )
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

export function ruleQueries(): readonly Query[] {
  const { groups } = parse(readFileSync(join(checkout, 'grafana/prometheus/heartline.rules.yml'), 'utf8')) as RuleFile
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ place: alert, expr })))
}

/** Every documentation page, by path. */
export function pages(): ReadonlyMap<string, string> {
  const docs = readdirSync(join(checkout, 'docs'), { recursive: true, encoding: 'utf8' })
  const files = ['README.md', ...docs.filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)]
  return new Map(files.map((file) => [file, readFileSync(join(checkout, file), 'utf8')]))
}

export function documentedQueries(): readonly Query[] {
  return [...pages()].flatMap(([place, text]) =>
    [...text.matchAll(/```promql\n([^`]*)```/g)].flatMap(([, block = '']) =>
      block.trim() === '' ? [] : [{ place, expr: block.trim() }],
    ),
  )
}
