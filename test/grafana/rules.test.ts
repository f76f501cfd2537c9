import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { BURN_RATES, OBJECTIVES } from '../../grafana/alert-thresholds.ts'
import { linksOf, type Silencer } from '../../grafana/alerts/alert.ts'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { grafanaRules } from '../../grafana/grafana-rules.ts'
import { prometheusRules } from '../../grafana/prometheus-rules.ts'
import { requirePackage } from '../support/system-package.ts'
import { planRuleTests, promtool, type RuleTest } from './promtool.ts'
import { documentedQueries } from './queries.ts'
import { RULE_CASES, type RuleCase } from './rule-cases.ts'

const hasPromtool = requirePackage('promtool', 'prometheus')
const alerts = alertGroups().flatMap((group) => group.alerts)
const RULES = { 'rules.yml': prometheusRules(alertGroups()) }
const { groups: OF_GRAFANA } = parse(grafanaRules(alertGroups())) as {
  groups: readonly { readonly rules: readonly GrafanaRule[] }[]
}
const PLACE = { job: 'heartline', instance: 'heartline:9780' }
const [WELL, ILL, WELL_AGAIN] = ['15m', '55m', '205m']
/** A certificate alert fires after one hour. */
const later = (alert: string) => (alert === 'HeartlineTlsExpiring' ? '115m' : ILL)

const looksAt = (alert: string): readonly Look[] => [
  { at: WELL, fires: false },
  { at: later(alert), fires: true },
  { at: WELL_AGAIN, fires: false },
]

interface Look {
  readonly at: string
  readonly fires: boolean
}

const SILENCES: Readonly<Record<Silencer, string>> = {
  halted: 'heartline_network_halted{network="avalanche"}',
  impaired: 'heartline_observer_impaired{}',
  maintenance: 'heartline_endpoint_state{network="avalanche",endpoint="own-1",state="maintenance"}',
}

test('every alert has a case and a unique name', () => {
  const names = alerts.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  expect(new Set(RULE_CASES.map((one) => one.alert))).toEqual(new Set(names))
})

test('no alert about the same poll fires before HeartlineEndpointDown, which explains it', () => {
  const inSeconds = (hold: string) =>
    Number.parseInt(hold, 10) * ({ s: 1, m: 60, h: 3600 }[hold.at(-1) ?? ''] ?? Number.NaN)
  const down = alertOf({ alert: 'HeartlineEndpointDown' })

  const earlier = alerts.filter(
    ({ name, scope, severity, hold }) =>
      // An endpoint that flaps is not always down.
      name !== 'HeartlineEndpointFlapping' &&
      scope === 'endpoint' &&
      severity === 'warning' &&
      inSeconds(hold) < inSeconds(down.hold),
  )

  expect(earlier.map(({ name }) => name)).toEqual([])
})

describe.skipIf(!hasPromtool)('Prometheus itself', () => {
  const planned = planRuleTests()

  test('accepts the rules', () => {
    const { status, output } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', 'rules.yml'], RULES)

    expect(output).toContain(`SUCCESS: ${alerts.length} rules found`)
    expect(status).toBe(0)
  })

  const inTime = RULE_CASES.map((one) => ({ ...one, said: planned(ruleTest(one, looksAt(one.alert))) }))
  test.each(inTime)('$alert fires in time with node and number, and resolves: $description', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const ofGrafana = RULE_CASES.map((one) => {
    const test = ruleTest(one, looksAt(one.alert), inGrafana(one.alert))
    return { ...one, said: planned(test) }
  })
  test.each(ofGrafana)('the Grafana rule for $alert does the same: $description', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const silenced = RULE_CASES.flatMap((one) =>
    alertOf(one).silencedBy.map((by) => {
      const series = { ...one.series, [SILENCES[by]]: '1x220' }
      const test = ruleTest({ ...one, series }, [{ at: later(one.alert), fires: false }])
      return { ...one, by, said: planned(test) }
    }),
  )
  test.each(silenced)('$alert is silent while $by', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const unconfirmed = [
    'HeartlineEndpointLagging',
    'HeartlineEndpointStalled',
    'HeartlineNodeUnhealthy',
    'HeartlineNodeCheckFailing',
    'HeartlineHeartbeatStale',
    'HeartlineNodeSyncing',
    'HeartlineConsensusSyncing',
    'HeartlineConsensusDown',
    'HeartlineEndpointSlow',
    'HeartlineClockSkew',
  ].map((alert) => {
    const one = caseOf(alert)
    const series = Object.fromEntries(
      Object.entries(one.series).filter(([series]) => !series.startsWith('heartline_endpoint_condition')),
    )
    return { alert, said: planned(ruleTest({ ...one, series }, [{ at: ILL, fires: false }])) }
  })
  test.each(unconfirmed)(
    '$alert is silent until Heartline has confirmed the fault, even with rare polls',
    ({ said }) => {
      expect(said()).toBe('SUCCESS')
    },
  )

  const OF_VALUES = /^heartline_endpoint_(condition|state)\{/
  // A value of 0 is a series that ends.
  const withoutZeros = (values: string) => values.replaceAll(/\b0x(\d+)/g, 'stale _x$1')
  const sparse = RULE_CASES.filter(({ series }) => Object.keys(series).some((name) => OF_VALUES.test(name))).map(
    (one) => {
      const series = Object.fromEntries(
        Object.entries(one.series).map(([name, values]) => [
          name,
          OF_VALUES.test(name) ? withoutZeros(values) : values,
        ]),
      )
      return { ...one, said: planned(ruleTest({ ...one, series }, looksAt(one.alert))) }
    },
  )
  test.each(sparse)('$alert does the same with `metrics.sparse`: $description', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const absent = caseOf('HeartlineAbsent')
  const up = { 'up{}': '1x19 0x199' }
  const whileGone = planned(
    ruleTest({ ...absent, series: { ...goneFor(absent), ...up } }, [
      { at: WELL, fires: false },
      { at: ILL, fires: true },
      { at: WELL_AGAIN, fires: true },
    ]),
  )
  test('a Heartline that is still a target fires one alert while it is gone', () => {
    expect(whileGone()).toBe('SUCCESS')
  })

  const left = 'heartline_build_info{version="1.2.3",job="heartline",instance="other:9780"}'
  const removed = planned(
    ruleTest({ ...absent, series: { ...goneFor(absent), [left]: '1x220' } }, [
      { at: ILL, fires: true },
      { at: WELL_AGAIN, fires: false },
    ]),
  )
  test('a removed Heartline is forgotten after an hour if another one is left', () => {
    expect(removed()).toBe('SUCCESS')
  })

  const eachMinute = Array.from({ length: 30 }, (_, at) => ({ at: `${20 + at}m`, fires: false }))
  const restarted = ['3x19 4x0 3x200', '_x19 4x0 3x200'].map((members) => {
    const gone = caseOf('HeartlineMemberGone')
    const series = { ...gone.series, 'heartline_cluster_members{}': members }
    return { members, said: planned({ ...ruleTest({ ...gone, series }, eachMinute), evaluation_interval: '1m' }) }
  })
  test.each(restarted)('a member that died and started again within a lease is not missing: $members', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  // Rates have what was before a gap.
  const LASTING: readonly string[] = ['HeartlineNoEligibleEndpoint', 'HeartlineDiskFilling']
  const throughRestart = alertGroups()
    .flatMap((group) => group.alerts.map(({ name }) => ({ alert: name, group })))
    .filter(({ alert, group }) => group.name === 'heartline-cluster' || LASTING.includes(alert))
    .map(({ alert, group }) => {
      const one = caseOf(alert)
      // Two scrapes in the middle of the fault find nothing.
      const series = Object.fromEntries(
        Object.entries(one.series).map(([name, values]) => [
          name,
          values.replace(/(\d+)x39/, '$1x28 stale _x0 $1x8').replace(/^(\d+)x220$/, '$1x48 stale _x0 $1x168'),
        ]),
      )
      return { alert, said: planned(lastingTest({ ...one, series }, prometheusRules([group]))) }
    })
  test.each(throughRestart)('a restart of the Heartline that is scraped does not resolve $alert', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const throughImpairment = RULE_CASES.filter(({ alert }) => alert.includes('Burn')).map((one) => {
    const series = { ...one.series, 'heartline_observer_impaired{}': '0x49 1x0 0x169' }
    const rules = prometheusRules(alertGroups().filter(({ name }) => name === 'heartline-objectives'))
    return { ...one, said: planned(lastingTest({ ...one, series }, rules)) }
  })
  test.each(throughImpairment)('a Heartline that is impaired for a moment does not resolve $alert', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const twoBadMinutes = { 'heartline_endpoint_up{network="avalanche",endpoint="own-1"}': '_x50 0x1 1x168' }
  const everyMinute = Array.from({ length: 30 }, (_, at) => ({ at: `${50 + at}m`, fires: false }))
  const burnSlow = { ...caseOf('HeartlineAvailabilityBurnSlow'), series: twoBadMinutes }
  const ofNew = planned({ ...ruleTest(burnSlow, everyMinute), evaluation_interval: '1m' })
  test('two bad minutes of a new Heartline are not counted as six bad hours', () => {
    expect(ofNew()).toBe('SUCCESS')
  })

  test('a single bad sample does not burn the budget', () => {
    for (const { rate, longSeconds, lookSeconds } of Object.values(BURN_RATES)) {
      expect(lookSeconds / longSeconds).toBeLessThan(rate * (1 - OBJECTIVES.availability))
    }
  })

  const unjudged = ['maintenance', 'unknown'].map((state) => {
    const none = caseOf('HeartlineNoEligibleEndpoint')
    const judged = Object.entries(none.series).filter(([series]) => !series.startsWith('heartline_network_endpoints'))
    const series = {
      ...Object.fromEntries(judged),
      'heartline_network_endpoints{network="avalanche",state="down"}': '0x220',
      [`heartline_network_endpoints{network="avalanche",state="${state}"}`]: '2x220',
    }
    return { state, said: planned(ruleTest({ ...none, series }, [{ at: ILL, fires: false }])) }
  })
  test.each(unjudged)('a network with all endpoints in state $state does not fire "no endpoint"', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const burnFast = caseOf('HeartlineAvailabilityBurnFast')
  const good = 'heartline_endpoint_up{network="avalanche",endpoint="own-3"}'
  const withOneGood = planned(
    ruleTest({ ...burnFast, series: { ...burnFast.series, [good]: '1x220' } }, [{ at: ILL, fires: false }]),
  )
  test('a network with one good endpoint burns no budget', () => {
    expect(withOneGood()).toBe('SUCCESS')
  })

  const burning = RULE_CASES.filter(({ alert }) => alert.includes('Burn')).map((one) => {
    const [query] = documentedQueries().filter(({ place }) => place.endsWith(`/${one.alert}.md`))
    const expr = `(${query?.expr.replaceAll('NETWORK', 'avalanche')}) < bool 1`
    const shown = { expr, eval_time: ILL, exp_samples: [{ labels: '{network="avalanche"}', value: 1 }] }
    const { tests, ...test } = ruleTest(one, [])
    return {
      ...one,
      said: planned({ ...test, tests: tests.map((series) => ({ ...series, promql_expr_test: [shown] })) }),
    }
  })
  test.each(burning)('the runbook of $alert has a query that shows the bad time', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const held = ['HeartlineNodeSyncing', 'HeartlineConsensusSyncing', 'HeartlineConsensusDown'].flatMap((alert) =>
    (['_x180', '0x180'] as const).map((after) => {
      const one = caseOf(alert)
      const values = after === '0x180' && alert === 'HeartlineConsensusDown' ? '1x180' : after
      const series = Object.fromEntries(
        Object.entries(one.series).map(([name, known]) => [
          name,
          name.startsWith('heartline_node_') ? known.replace(/x39 .*/, `x5 ${values}`) : known,
        ]),
      )
      const looks = [
        { at: ILL, fires: true },
        { at: WELL_AGAIN, fires: false },
      ]
      const description = one.description.replace('12000', '1')
      return { alert, after, said: planned(ruleTest({ ...one, series, description }, looks)) }
    }),
  )
  test.each(held)('$alert fires as long as Heartline holds the condition, after other reports: $after', ({ said }) => {
    expect(said()).toBe('SUCCESS')
  })

  const slow = caseOf('HeartlineEndpointSlow')
  const fastInBetween = 'heartline_check_last_duration_seconds{network="avalanche",endpoint="own-1",check="head"}'
  const mostlySlow = `0.1x20 ${'2.5x1 0.1x0 '.repeat(40)}`.trim()
  const slowInMost = planned(
    ruleTest({ ...slow, series: { ...slow.series, [fastInBetween]: mostlySlow } }, [{ at: ILL, fires: true }]),
  )
  test('an endpoint that is slow in most polls fires, although single ones in between are fast', () => {
    expect(slowInMost()).toBe('SUCCESS')
  })

  const down = caseOf('HeartlineEndpointDown')
  const elsewhere = {
    'heartline_network_halted{network="avalanche",job="heartline",instance="other:9780"}': '1x220',
    'heartline_observer_impaired{job="heartline",instance="other:9780"}': '1x220',
  }
  const judges = {
    'heartline_observer_impaired{job="heartline",instance="heartline:9780"}': '1x220',
    'heartline_observer_judging{job="heartline",instance="heartline:9780"}': '1x220',
  }
  const unwritten = planned(ruleTest({ ...down, series: { ...down.series, ...judges } }, [{ at: ILL, fires: true }]))
  test('a Heartline that only cannot write its history silences nothing', () => {
    expect(unwritten()).toBe('SUCCESS')
  })

  const ofAnother = planned(ruleTest({ ...down, series: { ...down.series, ...elsewhere } }, [{ at: ILL, fires: true }]))
  test('one Heartline silences no alerts of another', () => {
    expect(ofAnother()).toBe('SUCCESS')
  })
})

function caseOf(name: string): RuleCase {
  const found = RULE_CASES.find(({ alert }) => alert === name)
  if (found === undefined) throw new Error(`no case of ${name}`)
  return found
}

function goneFor({ series }: RuleCase): RuleCase['series'] {
  return Object.fromEntries(Object.keys(series).map((one) => [one, '1x19 stale _x199']))
}

function alertOf({ alert }: Pick<RuleCase, 'alert'>) {
  const found = alerts.find(({ name }) => name === alert)
  if (found === undefined) throw new Error(`no alert ${alert}`)
  return found
}

function ruleTest(
  one: RuleCase,
  looks: readonly Look[],
  rules = prometheusRules([{ name: 'one', alerts: [alertOf(one)], keepFiringFor: null }]),
): RuleTest {
  const alert = alertOf(one)
  const { name, severity, scope } = alert
  const links = linksOf(alert)
  const { network = '', endpoint = '' } = one.labels
  const page = links.page_url.replace('{{ $labels.network }}', network).replace('{{ $labels.endpoint }}', endpoint)
  const expected = {
    exp_labels: { ...PLACE, ...one.labels, severity, scope },
    exp_annotations: { summary: one.summary, description: one.description, ...links, page_url: page },
  }
  return {
    rules,
    // Series change and are looked at on multiples of it: evaluations in between see the same.
    evaluation_interval: '5m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(one.series).map(([series, values]) => ({ series: placed(series), values })),
        alert_rule_test: looks.map(({ at, fires }) => ({
          eval_time: at,
          alertname: name,
          exp_alerts: fires ? [expected] : [],
        })),
      },
    ],
  }
}

/** The alert of a case fires in every minute around the fiftieth. */
function lastingTest(one: RuleCase, rules: string): RuleTest {
  const { tests, ...test } = ruleTest(one, [], rules)
  const shown = ['49m', '50m', '51m', '52m', '54m'].map((at) => ({
    expr: `count by (alertname) (ALERTS{alertname="${one.alert}",alertstate="firing"})`,
    eval_time: at,
    exp_samples: [{ labels: `{alertname="${one.alert}"}`, value: 1 }],
  }))
  const lasting = tests.map((of) => ({ ...of, promql_expr_test: shown }))
  return { ...test, evaluation_interval: '1m', tests: lasting }
}

interface GrafanaRule {
  readonly title: string
  readonly for: string
  readonly labels: object
  readonly annotations: Readonly<Record<string, string>>
  readonly data: readonly [
    { readonly model: { readonly expr: string } },
    {
      readonly model: {
        readonly conditions: readonly [{ readonly evaluator: { type: 'gt' | 'lt'; params: [number] } }]
      }
    },
  ]
}

/** The Grafana rule as a Prometheus expression: query A with the comparison of B. */
function inGrafana(name: string): string {
  const rule = OF_GRAFANA.flatMap(({ rules }) => rules).find(({ title }) => title === name)
  if (rule === undefined) throw new Error(`no rule ${name}`)
  const [number, { model }] = rule.data
  const { type, params } = model.conditions[0].evaluator
  const annotations = Object.fromEntries(
    Object.entries(rule.annotations).map(([key, text]) => [key, text.replaceAll('$values.A.Value', '$value')]),
  )
  return stringify({
    groups: [
      {
        name,
        rules: [
          {
            alert: name,
            expr: `(${number.model.expr}) ${type === 'gt' ? '>' : '<'} ${params[0]}`,
            for: rule.for,
            labels: rule.labels,
            annotations,
          },
        ],
      },
    ],
  })
}

/** For series without `job` and `instance`. */
function placed(series: string): string {
  if (series.includes('instance=')) return series
  return series.replace('}', `${series.endsWith('{}') ? '' : ','}job="heartline",instance="heartline:9780"}`)
}
