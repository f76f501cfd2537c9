import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { FAILURE_KINDS } from '../../src/core/failure.ts'
import { SKIP_REASONS } from '../../src/core/poll-result.ts'
import {
  ATTEMPT_OUTCOMES,
  REJECTION_REASONS,
  REQUEST_OUTCOMES,
  RETRY_REASONS,
} from '../../src/core/routing/request-outcome.ts'
import { CONDITION_CODES, STATES } from '../../src/core/verdict/condition.ts'
import { METRICS, PREFIX, PROBE_METRICS } from '../../src/metrics/registry.ts'
import { RESULTS } from '../../src/notify/notification.ts'

/** Every series name, with its labels. */
export type Vocabulary = ReadonlyMap<string, ReadonlySet<string>>

/** Labels that Prometheus adds to all series of a target, and series that it creates itself. */
const OF_TARGETS = ['job', 'instance']
const LABEL_VALUES: Readonly<Record<string, readonly string[]>> = {
  state: STATES,
  condition: CONDITION_CODES,
  outcome: [...REQUEST_OUTCOMES, ...ATTEMPT_OUTCOMES],
  reason: [...FAILURE_KINDS, ...REJECTION_REASONS, ...RETRY_REASONS, ...SKIP_REASONS],
  result: ['hit', 'miss', ...RESULTS],
  check: ['liveness', 'head'],
}

/** From the metrics table and the rendered metrics of prom-client. */
export function createVocabulary(): Vocabulary {
  const known = new Map<string, Set<string>>()
  for (const [name, { type, labels }] of Object.entries({ ...METRICS, ...PROBE_METRICS })) {
    const all = [...OF_TARGETS, ...labels]
    if (type === 'histogram') {
      known.set(`${PREFIX}${name}_bucket`, new Set([...all, 'le']))
      for (const part of ['sum', 'count']) known.set(`${PREFIX}${name}_${part}`, new Set(all))
    } else known.set(`${PREFIX}${name}`, new Set(all))
  }
  // Alert series of Prometheus: labels of the rule and of its expression.
  known.set('ALERTS', new Set([...OF_TARGETS, 'alertname', 'alertstate', 'severity', 'scope', 'network', 'endpoint']))
  // Whether the scrape of each target succeeded.
  known.set('up', new Set(OF_TARGETS))
  const ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  for (const { name, type } of ofProcess.getMetricsAsArray()) {
    if (String(type) === 'counter' || !name.endsWith('_total')) known.set(name, new Set(OF_TARGETS))
  }
  return known
}

/** Problems of a query: it does not parse, or uses unknown metrics or labels. */
export function objections(query: string, vocabulary: Vocabulary): readonly string[] {
  const tree = parser.parse(query)
  const found: string[] = []
  const selected = new Set<string>()
  const grouped: string[] = []
  const text = (node: SyntaxNode) => query.slice(node.from, node.to)

  tree.iterate({
    enter({ node, type }) {
      if (type.isError) found.push(`does not parse at ${node.from}: ${query}`)
      if (type.name === 'VectorSelector') {
        const identifier = node.getChild('Identifier')
        const metric = identifier === null ? '' : text(identifier)
        const labels = vocabulary.get(metric)
        if (labels === undefined) return void found.push(`no metric ${metric || query}`)
        for (const label of labels) selected.add(label)
        node
          .getChild('LabelMatchers')
          ?.cursor()
          .iterate((inner) => {
            if (inner.name !== 'UnquotedLabelMatcher') return
            const [label, value] = [inner.node.getChild('LabelName'), inner.node.getChild('StringLiteral')]
            if (label === null || value === null) return
            const name = text(label)
            if (!labels.has(name)) found.push(`${metric} has no label ${name}`)
            const values = LABEL_VALUES[name]
            if (values === undefined) return
            for (const one of text(value).slice(1, -1).split('|')) {
              if (!values.includes(one)) found.push(`${name} is never ${one}`)
            }
          })
      }
      if (type.name === 'GroupingLabels') {
        for (const label of node.getChildren('LabelName')) grouped.push(text(label))
      }
      return undefined
    },
  })
  for (const label of grouped) if (!selected.has(label)) found.push(`nothing here has the label ${label}: ${query}`)
  return found
}
