import { MappingType, type ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard'

/** The text and colour of a number. */
export type Words = Readonly<Record<number, readonly [text: string, color: string]>>

/** Endpoint states by the numbers of `stateOf`, in the colours of the page. */
export const STATE_WORDS: Words = {
  0: ['up', 'green'],
  1: ['degraded', 'yellow'],
  2: ['down', 'red'],
  3: ['maintenance', 'blue'],
  4: ['unknown', 'gray'],
}
export const FIRING: Words = { 1: ['firing', 'red'] }
export const YES_IS_BAD: Words = { 0: ['no', 'green'], 1: ['yes', 'red'] }
export const YES_IS_GOOD: Words = { 0: ['no', 'red'], 1: ['yes', 'green'] }

export function mappingOf(words: Words): ValueMapping {
  return {
    type: MappingType.ValueToText,
    options: Object.fromEntries(
      Object.entries(words).map(([value, [text, color]], index) => [value, { text, color, index }]),
    ),
  }
}

/** The state of each matching endpoint, as a number. */
export function stateOf(filter: string, by: string): string {
  return numbered('heartline_endpoint_state', filter, by, 'instance, network, endpoint, state')
}

/** The same for each place of a cluster. */
export function placeStateOf(filter: string, by: string): string {
  return numbered('heartline_vantage_state', filter, by, 'instance, network, endpoint, vantage, state')
}

function numbered(metric: string, filter: string, by: string, on: string): string {
  const states = Object.entries(STATE_WORDS).map(
    ([value, [state]]) => `${metric}{${filter},state="${state}"} * ${value}`,
  )
  return `max by (${by}) ((${states.join(' or ')}) unless on (${on}) ${metric} == 0)`
}
