import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { DASHBOARDS } from '../../grafana/uids.ts'
import { loadConfig } from '../../src/config/load.ts'
import { checkout } from '../support/project.ts'
import { requirePackage } from '../support/system-package.ts'
import { promtool } from './promtool.ts'
import { keptDashboards } from './queries.ts'

const hasPromtool = requirePackage('promtool', 'prometheus')
const read = (path: string) => readFileSync(join(checkout, path), 'utf8')
const readYaml = (path: string) => parse(read(path), { merge: true })

/** The keys of `pkg/services/provisioning/alerting/rules_types.go`: Grafana silently ignores unknown ones. */
const GROUP_KEYS = ['orgId', 'name', 'folder', 'interval', 'rules']
const RULE_KEYS =
  'uid title condition data dashboardUid panelId noDataState execErrState for keepFiringFor annotations labels isPaused notification_settings missing_series_evals_to_resolve'.split(
    ' ',
  )
const QUERY_KEYS = ['refId', 'queryType', 'relativeTimeRange', 'datasourceUid', 'model']
const DURATION = /^(0s|([1-9]\d*(s|m|h|d))+)$/

interface Rule {
  readonly uid: string
  readonly title: string
  readonly condition: string
  readonly for: string
  readonly noDataState: string
  readonly dashboardUid: string
  readonly panelId: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly data: readonly {
    readonly refId: string
    readonly datasourceUid: string
    readonly model: { readonly refId: string; readonly expression?: string; readonly conditions?: readonly unknown[] }
  }[]
}

describe('the rules for Grafana', () => {
  const file = readYaml('grafana/provisioning/alerting/heartline-rules.yaml')
  const groups: readonly { readonly interval: string; readonly rules: readonly Rule[] }[] = file.groups
  const rules = groups.flatMap((group) => group.rules)
  const dataSources: readonly { readonly uid: string }[] = readYaml(
    'grafana/provisioning/datasources/heartline.yaml',
  ).datasources

  test('have only known keys, and all required ones', () => {
    expect(Object.keys(file)).toEqual(['apiVersion', 'groups'])
    for (const group of groups) {
      expect(Object.keys(group)).toEqual(GROUP_KEYS)
      expect(group.interval).toMatch(DURATION)
      for (const rule of group.rules) {
        expect(Object.keys(rule).filter((key) => !RULE_KEYS.includes(key))).toEqual([])
        expect(rule.for).toMatch(DURATION)
        for (const query of rule.data) expect(Object.keys(query).filter((key) => !QUERY_KEYS.includes(key))).toEqual([])
      }
    }
  })

  test('have short uids, unique titles, and one of their queries as condition', () => {
    for (const { uid, condition, data } of rules) {
      expect(uid).toMatch(/^[a-z][a-z-]{0,39}$/)
      expect(data.map(({ refId }) => refId)).toContain(condition)
      for (const { refId, model } of data) expect(model.refId).toBe(refId)
    }
    expect(new Set(rules.map(({ uid }) => uid)).size).toBe(rules.length)
    expect(new Set(rules.map(({ title }) => title)).size).toBe(rules.length)
  })

  test('query the provisioned data source, and compare its number so that 0 is only normal where it should be', () => {
    for (const { data } of rules) {
      const [number, fires] = data
      expect(dataSources.map(({ uid }) => uid)).toContain(number?.datasourceUid)
      expect(fires?.datasourceUid).toBe('__expr__')
      expect(fires?.model).toMatchObject({ type: 'threshold', expression: 'A' })
      expect(fires?.model.conditions).toEqual([
        { evaluator: { type: expect.stringMatching(/^[gl]t$/), params: [expect.any(Number)] } },
      ])
    }
  })

  test('have no templates in labels, and the number of query A in annotations', () => {
    for (const { labels, annotations } of rules) {
      expect(JSON.stringify(labels)).not.toContain('$')
      expect(JSON.stringify(annotations)).not.toMatch(/\$value\b/)
      expect(annotations['description']).toContain('$values.A.Value')
      expect(annotations['runbook_url']).toMatch(/^https?:\/\//)
    }
  })

  test('link to an existing panel', () => {
    for (const { title, dashboardUid, panelId } of rules) {
      const dashboard = keptDashboards().find(({ uid }) => uid === dashboardUid)
      expect(dashboard?.panels.find(({ id }) => id === panelId)?.title, title).toMatch(/^[A-Z]/)
    }
  })

  test('treat a missing series as normal', () => {
    expect(new Set(rules.map(({ noDataState }) => noDataState))).toEqual(new Set(['OK']))
  })

  test('are as many as the Prometheus rules', () => {
    const inPrometheus: readonly { rules: readonly { alert: string }[] }[] = readYaml(
      'grafana/prometheus/heartline.rules.yml',
    ).groups

    expect(rules.map(({ title }) => title)).toEqual(
      inPrometheus.flatMap((group) => group.rules.map(({ alert }) => alert)),
    )
  })
})

describe.skipIf(!hasPromtool)('the Prometheus configurations', () => {
  test.each([
    ['prometheus.yml', []],
    ['cluster.yml', []],
    ['http-sd.yml', []],
    ['agent.yml', ['--agent']],
  ])('%s is accepted', (name, flags) => {
    // Token files are created by the user.
    const text = read(`grafana/prometheus/${name}`).replaceAll(/credentials_file: \S+/g, 'credentials: x')

    const { status, output } = promtool(['check', 'config', ...flags, name], {
      [name]: text,
      'heartline.rules.yml': read('grafana/prometheus/heartline.rules.yml'),
    })

    expect(output).toContain('SUCCESS')
    expect(status).toBe(0)
  })
})

/** The environment that compose.cluster.yaml gives its members. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'fra-1': { PLACE: 'fra1', PORT: '9780', OWN_3: '18503' },
  'fra-2': { PLACE: 'fra1', PORT: '9782', OWN_3: '18503' },
  'nyc-1': { PLACE: 'nyc1', PORT: '9784', OWN_3: '18513' },
}

describe.each([
  { file: 'compose.yaml', config: 'grafana/compose/heartline.yaml', members: { heartline: {} } },
  { file: 'compose.cluster.yaml', config: 'grafana/compose/cluster.yaml', members: MEMBERS },
])('$file', ({ file, config, members }) => {
  interface Service {
    readonly image?: string
    readonly build?: string
    readonly command?: readonly string[]
    readonly entrypoint?: readonly string[]
    readonly volumes?: readonly string[]
    readonly environment?: Readonly<Record<string, string>>
    readonly ports?: readonly string[]
  }
  const { services, volumes }: { services: Record<string, Service>; volumes: Record<string, null> } = readYaml(file)

  test('mounts existing files', () => {
    const mounted = Object.values(services).flatMap((service) => service.volumes ?? [])

    expect(mounted.length).toBeGreaterThan(5)
    for (const mount of mounted) {
      const [from = ''] = mount.split(':')
      if (from.startsWith('./')) expect(() => readdirSync(join(checkout, from, '..'))).not.toThrow()
      if (from.startsWith('./')) expect(readdirSync(join(checkout, from, '..'))).toContain(from.split('/').at(-1))
      else expect(Object.keys(volumes)).toContain(from)
    }
  })

  test('only publishes ports on localhost, and pins its images', () => {
    for (const { ports = [], image, build } of Object.values(services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      if (build === undefined && image !== 'heartline') expect(image).toMatch(/^[a-z/]+@sha256:[0-9a-f]{64}$/)
    }
  })

  test('mounts the dashboards at the provisioned path', () => {
    const { providers } = readYaml('grafana/provisioning/dashboards/heartline.yaml')

    expect(services['grafana']?.volumes).toContain(`./grafana/dashboards:${providers[0].options.path}:ro`)
    expect(keptDashboards()).toHaveLength(Object.keys(DASHBOARDS).length)
  })

  test('uses the image as the Dockerfile builds it', () => {
    const dockerfile = read('Dockerfile')
    const [, node = '?'] = /^ENTRYPOINT \["([^"]+)"/m.exec(dockerfile) ?? []
    const [, data = '?'] = /^VOLUME (\S+)$/m.exec(dockerfile) ?? []

    expect(services['trouble']?.entrypoint?.[0]).toBe(node)
    for (const member of Object.keys(members)) {
      expect(services[member]?.volumes).toContain(`${member}:${data}`)
      expect(services[member]?.volumes).toContain(`./${config}:/etc/heartline/heartline.yaml:ro`)
    }
    expect(readYaml(config).store.path).toMatch(new RegExp(`^${data}/\\w+\\.db$`))
  })

  test('has a simulated node for every endpoint of each member, and a valid configuration', () => {
    const nodes = Object.values(services).flatMap(({ command = [] }) =>
      command[0] === 'simulate' ? [`${command[2]}/${command[6]} http://127.0.0.1:${command[4]}`] : [],
    )
    const { networks } = readYaml(config) as {
      networks: readonly { name: string; endpoints: readonly { name: string; url: string }[] }[]
    }
    const polled = new Set<string>()

    for (const [member, expected] of Object.entries(members)) {
      const { environment = {} } = services[member] ?? {}
      expect(environment).toMatchObject(expected)
      expect(loadConfig(join(checkout, config), environment).ok).toBe(true)
      for (const { name, endpoints } of networks) {
        for (const one of endpoints) {
          polled.add(`${name}/${one.name} ${one.url.replace(/\$\{(\w+)\}/g, (_, key) => environment[key] ?? '?')}`)
        }
      }
    }

    expect([...polled].sort()).toEqual(nodes.sort())
  })
})

test('the members of compose.cluster.yaml are scraped, and the database is the one that they use', () => {
  const { services } = readYaml('compose.cluster.yaml') as {
    services: Record<string, { environment?: Record<string, string>; ports?: readonly string[] }>
  }
  const scraped = readYaml('grafana/prometheus/cluster.yml').scrape_configs[0].static_configs[0].targets
  const members = Object.keys(MEMBERS).map((name) => services[name]?.environment ?? {})
  const { POSTGRES_USER, POSTGRES_DB } = services['postgres']?.environment ?? {}

  expect(scraped).toEqual(members.map(({ PORT }) => `machine:${PORT}`))
  expect(services['machine']?.ports).toEqual(members.map(({ PORT }) => `127.0.0.1:${PORT}:${PORT}`))
  expect(new Set(members.map(({ DB_PASSWORD }) => DB_PASSWORD))).toEqual(
    new Set([services['postgres']?.environment?.['POSTGRES_PASSWORD']]),
  )
  expect(readYaml('grafana/compose/cluster.yaml').store.url).toBe(
    `postgres://${POSTGRES_USER}:\${DB_PASSWORD}@postgres:5432/${POSTGRES_DB}`,
  )
})
