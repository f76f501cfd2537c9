import type { CheckName, Endpoint } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import { CONDITION_CODES, type ConditionCode, STATES, type State } from '../core/verdict/condition.ts'

/** The labels of one endpoint, written once for as long as it is configured. */
export interface EndpointLabels {
  /** `network="…",endpoint="…"` without braces. */
  readonly bare: string
  readonly onShard: readonly { readonly shard: Shard; readonly labels: string }[]
}

const written = new WeakMap<Endpoint, EndpointLabels>()

export function labelsOf(endpoint: Endpoint): EndpointLabels {
  const known = written.get(endpoint)
  if (known !== undefined) return known
  const bare = `network="${labelValue(endpoint.network)}",endpoint="${labelValue(endpoint.name)}"`
  const onShard = endpoint.shards.map((shard) => ({ shard, labels: `{${bare},${shardPair(shard)}} ` }))
  const labels = { bare, onShard }
  written.set(endpoint, labels)
  return labels
}

/** Empty where the chain is not sharded, so that every series has the label. */
export function shardPair(shard: Shard): string {
  return `shard="${shard ?? ''}"`
}

/** What follows the labels of an endpoint, up to the value. */
export const STATE_ENDS: readonly (readonly [State, string])[] = STATES.map((state) => [state, `,state="${state}"} `])
export const CONDITION_ENDS: readonly (readonly [ConditionCode, string])[] = CONDITION_CODES.map((code) => [
  code,
  `,condition="${code}"} `,
])
export const CHECK_ENDS: Readonly<Record<CheckName, string>> = {
  liveness: ',check="liveness"} ',
  head: ',check="head"} ',
}

const MAX_LABEL_LENGTH = 128

/** A label's value as the text format wants it. What comes from a node is cut and made printable, so it can break no line. */
export function labelValue(value: string): string {
  const cut = value.length > MAX_LABEL_LENGTH ? `${value.slice(0, MAX_LABEL_LENGTH - 1)}…` : value
  return cut.replaceAll(UNPRINTABLE, '�').replaceAll('\\', '\\\\').replaceAll('"', '\\"')
}

/** Control and format characters, halves of surrogate pairs, and what ends a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu
