import type { CheckName, Endpoint } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import { CONDITION_CODES, type ConditionCode, STATES, type State } from '../core/verdict/condition.ts'
import { METRICS, type MetricName } from './registry.ts'

/** The label text of one endpoint, cached while it is configured. Label names come from the registry. */
export function labelsOf(endpoint: Endpoint): EndpointLabels {
  const known = made.get(endpoint)
  if (known !== undefined) return known
  const { network, name, family, tier } = endpoint
  const chosen = Object.entries(endpoint.metricLabels).map(([label, value]) => `,label_${label}="${labelValue(value)}"`)
  const bare = flat(labelPairs('endpoint_up', [network, name]), ...chosen)
  const labels = {
    bare,
    info: flat(labelPairs('endpoint_info', [network, name, family, tier]), ...chosen, '} '),
    byShard: endpoint.shards.map((shard) => ({ shard, labels: flat(bare, ',', shardPair(shard), '} ') })),
  }
  made.set(endpoint, labels)
  return labels
}

export interface EndpointLabels {
  /** `network="…",endpoint="…"` and the chosen labels, without braces. */
  readonly bare: string
  /** With the closing brace, like `byShard`: `network="…",endpoint="…",family="…",tier="…"} `. */
  readonly info: string
  readonly byShard: readonly { readonly shard: Shard; readonly labels: string }[]
}

const made = new WeakMap<Endpoint, EndpointLabels>()

/** In one piece: V8 copies a text that `+` has made piece by piece, at every use. */
function flat(...parts: readonly string[]): string {
  return parts.join('')
}

/** All labels of a metric, in the order of its row in the registry. */
function labelPairs(name: MetricName, values: readonly string[]): string {
  return METRICS[name].labels.map((label, at) => `${label}="${labelValue(values[at] ?? '')}"`).join()
}

/** The last label of an endpoint metric, after the endpoint's own labels, with the closing brace. */
export function lastLabel(name: MetricName, value: string): string {
  return `,${METRICS[name].labels.at(-1)}="${value}"} `
}

export const STATE_ENDS = STATES.map((state): [State, string] => [state, lastLabel('endpoint_state', state)])
export const PLACE_STATE_ENDS = STATES.map((state): [State, string] => [state, lastLabel('vantage_state', state)])
export const CONDITION_ENDS = CONDITION_CODES.map((code): [ConditionCode, string] => [
  code,
  lastLabel('endpoint_condition', code),
])
export const CHECK_ENDS: Readonly<Record<CheckName, string>> = {
  liveness: lastLabel('checks_total', 'liveness'),
  head: lastLabel('checks_total', 'head'),
}

/** Empty if the chain is not sharded, so that every series has the label. */
export function shardPair(shard: Shard): string {
  return `shard="${shard ?? ''}"`
}

/** Escapes a label value. Text from a node is cut and made printable, so that it cannot break a line. */
export function labelValue(value: string): string {
  const cut = value.length > MAX_LABEL_LENGTH ? `${value.slice(0, MAX_LABEL_LENGTH - 1)}…` : value
  return cut.replaceAll(UNPRINTABLE, '\uFFFD').replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

const MAX_LABEL_LENGTH = 128
/** Control, format and private-use characters, lone surrogates and line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu
