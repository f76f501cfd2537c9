import { describe, expect, test } from 'vitest'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { keptDashboards, type Panel } from './queries.ts'

const dashboards = keptDashboards()
const UNITS = ['none', 's', 'd', 'bytes', 'percentunit', 'ops', 'reqps', 'wps']

test('there are six, each with its own uid, title and variables', () => {
  expect(dashboards.map(({ file }) => file).toSorted()).toEqual([
    'cluster.json',
    'endpoint.json',
    'fleet.json',
    'gateway.json',
    'heartline.json',
    'network.json',
  ])
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(6)
  expect(new Set(dashboards.map(({ title }) => title)).size).toBe(6)
})

describe.each(dashboards)('$file', ({ panels, uid, schemaVersion, templating, links }) => {
  test('has a uid and a format that Grafana accepts', () => {
    expect(uid).toMatch(/^[a-z-]{1,40}$/)
    expect(schemaVersion).toBeGreaterThanOrEqual(36)
  })

  test('has panels with a title, a description, a selectable data source and their own id', () => {
    for (const { title, description, datasource, targets } of panels) {
      expect(title).not.toBe('')
      expect(description, title).toMatch(/^[A-Z0-9].+\.$/)
      expect(datasource.uid).toBe('${datasource}')
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  })

  test('has a unit or a text for its numbers', () => {
    const without = panels.filter(({ type, fieldConfig }) => {
      const { unit = '', mappings = [] } = fieldConfig?.defaults ?? {}
      return type !== 'table' && !UNITS.includes(unit) && mappings.length === 0
    })

    expect(without.map(({ title }) => title)).toEqual(uid === 'heartline-itself' ? ['Version'] : [])
  })

  test('has no panel that overlaps another or leaves the grid', () => {
    for (const [at, one] of panels.entries()) {
      expect(one.gridPos.x + one.gridPos.w).toBeLessThanOrEqual(24)
      for (const other of panels.slice(at + 1)) expect(overlap(one, other), `${one.title}, ${other.title}`).toBe(false)
    }
  })

  test('uses only its own variables', () => {
    const declared = new Set(templating.list.map(({ name }) => name))
    const used = [...JSON.stringify({ panels, links }).matchAll(/\$\{?(?!__)([a-z]+)/g)].map(([, name = '']) => name)

    expect(used.filter((name) => !declared.has(name))).toEqual([])
    expect(declared).toContain('datasource')
    expect(declared).toContain('page')
  })

  test('links to the other dashboards and to the page', () => {
    expect(links.map(({ type }) => type)).toEqual(['dashboards', 'link'])
    expect(links[1]?.url).toBe('${page}')
  })
})

test('the fleet dashboard links each row to its endpoint', () => {
  const fleet = JSON.stringify(dashboards.find(({ file }) => file === 'fleet.json'))

  expect(fleet).toContain(
    '/d/heartline-endpoint?var-network=${__data.fields.network}&var-endpoint=${__data.fields.endpoint}',
  )
})

test('every threshold metric of an alert is drawn', () => {
  const named = (texts: readonly string[]) =>
    new Set(texts.flatMap((text) => text.match(/heartline_network_threshold_\w+/g) ?? []))
  const inAlerts = named(alertGroups().flatMap(({ alerts }) => alerts.map(({ number }) => number)))
  const inPanels = named(dashboards.map((dashboard) => JSON.stringify(dashboard)))

  expect([...inAlerts].filter((name) => !inPanels.has(name))).toEqual([])
  expect(inAlerts.size).toBe(7)
})

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}
