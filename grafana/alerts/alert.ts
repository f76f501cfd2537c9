import type { Pace } from '../pace.ts'

/** One alert, written once: Prometheus and Grafana get the same. */
export interface Alert {
  /** In capitals, as Prometheus has it; also the name of its page in `docs/runbooks/`. */
  readonly name: `Heartline${string}`
  /** Whose trouble it is. `endpoint` is about one node, and gives way to what explains it. */
  readonly scope: 'endpoint' | 'network' | 'gateway' | 'heartline'
  readonly severity: 'critical' | 'warning'
  /** PromQL whose value is the number that the description names. No value that fires is 0: Grafana takes 0 for normal. */
  readonly number: string
  readonly fires: { readonly above: number } | { readonly below: number }
  /** Such as `2m`. */
  readonly hold: string
  readonly summary: string
  /** Names the node and `$value`. */
  readonly description: string
  /** What explains it, or makes it no fault. */
  readonly silencedBy: readonly Silencer[]
}

export type Alerts = (pace: Pace) => readonly Alert[]
export type Silencer = 'halted' | 'impaired' | 'maintenance'

/** Every target's series have `job` and `instance`: two Heartlines are two opinions, and never mixed. */
export const OURS = 'job, instance'
export const OF_NETWORK = `${OURS}, network`
export const OF_ENDPOINT = `${OF_NETWORK}, endpoint`

const SILENCES: Readonly<Record<Silencer, string>> = {
  halted: `unless on (${OF_NETWORK}) heartline_network_halted == 1`,
  impaired: `unless on (${OURS}) heartline_observer_impaired == 1`,
  maintenance: `unless on (${OF_ENDPOINT}) heartline_endpoint_state{state="maintenance"} == 1`,
}

/** What an endpoint's own alert gives way to. */
export const EXPLAINED: readonly Silencer[] = ['maintenance', 'halted', 'impaired']

/** The number while nothing silences it, whether it fires or not. */
export function unsilenced({ number, silencedBy }: Alert): string {
  return [number, ...silencedBy.map((silencer) => SILENCES[silencer])].join('\n')
}

/** What Prometheus evaluates. */
export function expressionOf(alert: Alert): string {
  const bound = 'above' in alert.fires ? `> ${alert.fires.above}` : `< ${alert.fires.below}`
  return unsilenced({ ...alert, number: `(\n${indented(alert.number)}\n) ${bound}` })
}

/** Of an endpoint, the condition is confirmed. */
export function under(condition: string): string {
  return `on (${OF_ENDPOINT}) heartline_endpoint_condition{condition="${condition}"} == 1`
}

/** The network's configured threshold, to compare the series of its endpoints with. */
export function threshold(name: string): string {
  return `on (${OF_NETWORK}) group_left () heartline_network_threshold_${name}`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
