import { describe, expect, test } from 'vitest'
import { requirePackage } from '../support/system-package.ts'
import { promtool } from './promtool.ts'
import { documentedQueries, pages, panelQueries, type Query, ruleQueries, variableQueries } from './queries.ts'
import { createVocabulary, objections } from './vocabulary.ts'

const hasPromtool = requirePackage('promtool', 'prometheus')
const vocabulary = createVocabulary()

const objectionsTo = (queries: readonly Query[]) =>
  queries.flatMap(({ place, expr }) => objections(expr, vocabulary).map((what) => `${place}: ${what}`))

describe.each([
  ['alert rules', ruleQueries(), 31],
  ['panels', panelQueries(), 80],
  ['variables of dashboards', variableQueries(), 10],
  ['pages for people', documentedQueries(), 40],
])('the queries of %s', (_what, queries, atLeast) => {
  test('name only metrics, labels and values that exist', () => {
    expect(queries.length).toBeGreaterThanOrEqual(atLeast)
    expect(objectionsTo(queries)).toEqual([])
  })

  test.runIf(hasPromtool)('are read by Prometheus', () => {
    const rules = queries.map(({ expr }, at) => ({ record: `query:${at}`, expr }))

    const { output } = promtool(['check', 'rules', 'queries.json'], {
      'queries.json': JSON.stringify({ groups: [{ name: 'queries', rules }] }),
    })

    expect(output).toContain(`SUCCESS: ${queries.length} rules found`)
  })
})

test.each([
  ['a metric that is not there', 'heartline_endpoint_upp == 0', 'no metric heartline_endpoint_upp'],
  [
    'a histogram without its ending',
    'rate(heartline_scheduler_lag_seconds[5m])',
    'no metric heartline_scheduler_lag_seconds',
  ],
  ['a label that is not there', 'heartline_endpoint_up{net="a"}', 'heartline_endpoint_up has no label net'],
  ['a value that never comes', 'heartline_endpoint_state{state="healthy"}', 'state is never healthy'],
  ['one value of several', 'heartline_endpoint_state{state=~"up|ok"}', 'state is never ok'],
  ['a label to group by', 'sum by (shard) (heartline_endpoint_up)', 'nothing here has the label shard'],
  ['half a query', 'sum(heartline_endpoint_up', 'does not parse'],
])('%s is found out', (_what, query, objection) => {
  expect(objections(query, vocabulary).join('\n')).toContain(objection)
})

test('every metric that a page names exists', () => {
  const unknown = [...pages()].flatMap(([page, text]) =>
    [...text.matchAll(/(?<!begin with `)heartline_[a-z_]*[a-z](?![a-z_]*(?:…|\*|\.\*))/g)]
      .map(([name]) => name)
      .filter((name) => !isKnown(name))
      .map((name) => `${page}: ${name}`),
  )

  expect(unknown).toEqual([])
})

/** A histogram is named as a whole as well. */
function isKnown(name: string): boolean {
  return vocabulary.has(name) || vocabulary.has(`${name}_bucket`)
}
