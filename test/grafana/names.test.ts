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
  ['alert rules', ruleQueries(), 36],
  ['panels', panelQueries(), 80],
  ['dashboard variables', variableQueries(), 10],
  ['documentation', documentedQueries(), 40],
])('the queries of %s', (_what, queries, atLeast) => {
  test('name only metrics, labels and values that exist', () => {
    expect(queries.length).toBeGreaterThanOrEqual(atLeast)
    expect(objectionsTo(queries)).toEqual([])
  })

  test.runIf(hasPromtool)('parse in Prometheus', () => {
    const rules = queries.map(({ expr }, at) => ({ record: `query:${at}`, expr }))

    const { output } = promtool(['check', 'rules', 'queries.json'], {
      'queries.json': JSON.stringify({ groups: [{ name: 'queries', rules }] }),
    })

    expect(output).toContain(`SUCCESS: ${queries.length} rules found`)
  })
})

test.each([
  ['an unknown metric', 'heartline_endpoint_upp == 0', 'no metric heartline_endpoint_upp'],
  [
    'a histogram without suffix',
    'rate(heartline_scheduler_lag_seconds[5m])',
    'no metric heartline_scheduler_lag_seconds',
  ],
  ['an unknown label', 'heartline_endpoint_up{net="a"}', 'heartline_endpoint_up has no label net'],
  ['an impossible label value', 'heartline_endpoint_state{state="healthy"}', 'state is never healthy'],
  ['one impossible value of several', 'heartline_endpoint_state{state=~"up|ok"}', 'state is never ok'],
  ['an unknown label to group by', 'sum by (shard) (heartline_endpoint_up)', 'nothing here has the label shard'],
  ['an incomplete query', 'sum(heartline_endpoint_up', 'does not parse'],
])('%s is detected', (_what, query, objection) => {
  expect(objections(query, vocabulary).join('\n')).toContain(objection)
})

test('every metric named in the documentation exists', () => {
  const unknown = [...pages()].flatMap(([page, text]) =>
    [...text.matchAll(/(?<!begin with `)heartline_[a-z_]*[a-z](?![a-z_]*(?:…|\*|\.\*))/g)]
      .map(([name]) => name)
      .filter((name) => !isKnown(name))
      .map((name) => `${page}: ${name}`),
  )

  expect(unknown).toEqual([])
})

/** The documentation also names histograms without suffix. */
function isKnown(name: string): boolean {
  return vocabulary.has(name) || vocabulary.has(`${name}_bucket`)
}
