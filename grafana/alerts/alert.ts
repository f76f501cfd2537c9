import type { Pace } from '../pace.ts'

/** One alert, for Prometheus and Grafana alike. */
export interface Alert {
  /** Also the name of its page in `docs/runbooks/`. */
  readonly name: `Heartline${string}`
  /** What is affected. An `endpoint` alert is about one node, and is silenced by what explains it. */
  readonly scope: 'endpoint' | 'network' | 'gateway' | 'heartline'
  /** What the page shows of its cause, if that is elsewhere than what its scope says. */
  readonly leadsTo?: keyof typeof PAGES
  readonly severity: 'critical' | 'warning'
  /** PromQL for the number in the description. A firing value is never 0, because Grafana treats 0 as normal. */
  readonly number: string
  readonly fires: { readonly above: number } | { readonly below: number }
  /** Such as `2m`. */
  readonly hold: string
  readonly summary: string
  /** Must contain the node and `$value`. */
  readonly description: string
  /** What explains the alert, so that it stays silent. */
  readonly silencedBy: readonly Silencer[]
}

export type Alerts = (pace: Pace) => readonly Alert[]
export type Silencer = 'halted' | 'impaired' | 'maintenance'

/** All series have `job` and `instance`. The results of two Heartlines are never mixed. */
export const OF_HEARTLINE = 'job, instance'
export const OF_NETWORK = `${OF_HEARTLINE}, network`
export const OF_ENDPOINT = `${OF_NETWORK}, endpoint`

/** Nodes are judged while Heartline is impaired only because it cannot write its history. */
export const NOT_JUDGING = `heartline_observer_impaired == 1 unless on (${OF_HEARTLINE}) heartline_observer_judging == 1`

const SILENCES: Readonly<Record<Silencer, string>> = {
  halted: `unless on (${OF_NETWORK}) heartline_network_halted == 1`,
  impaired: `unless on (${OF_HEARTLINE}) (${NOT_JUDGING})`,
  maintenance: `unless on (${OF_ENDPOINT}) heartline_endpoint_state{state="maintenance"} == 1`,
}

/** What silences an endpoint alert. */
export const EXPLAINED: readonly Silencer[] = ['maintenance', 'halted', 'impaired']

/** The number of an alert that is not silenced, firing or not. */
export function unsilenced({ number, silencedBy }: Alert): string {
  return [number, ...silencedBy.map((silencer) => SILENCES[silencer])].join('\n')
}

/** The complete expression for Prometheus. */
export function expressionOf(alert: Alert): string {
  const bound = 'above' in alert.fires ? `> ${alert.fires.above}` : `< ${alert.fires.below}`
  return unsilenced({ ...alert, number: `(\n${indented(alert.number)}\n) ${bound}` })
}

/** Matches endpoints with a confirmed condition. */
export function under(condition: string): string {
  return `on (${OF_ENDPOINT}) heartline_endpoint_condition{condition="${condition}"} == 1`
}

/** The number, or 1 where a poll did not find the confirmed condition again, which two in a row would end. */
export function whileUnder(condition: string, number: string): string {
  const held = `max by (${OF_ENDPOINT}) (heartline_endpoint_condition{condition="${condition}"} == 1)`
  return `${number} > 0\nand ${under(condition)}\nor on (${OF_ENDPOINT}) ${held}`
}

/** The network's configured threshold, for comparison with series of its endpoints. */
export function threshold(name: string): string {
  return `on (${OF_NETWORK}) group_left () heartline_network_threshold_${name}`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}

/**
 * Where an alert leads: to what the page shows of the node, network, gateway or Heartline, and to its runbook, which the page
 * has too. `npm run grafana -- --page URL` sets the address at which readers reach it, `--runbooks URL` that of other runbooks.
 */
export function linksOf(
  { name, scope, leadsTo = scope }: Pick<Alert, 'name' | 'scope' | 'leadsTo'>,
  { page = 'http://127.0.0.1:9780', runbooks = `${trimmed(page)}/runbooks` }: Addresses = {},
): { readonly page_url: string; readonly runbook_url: string } {
  return { page_url: trimmed(page) + PAGES[leadsTo], runbook_url: `${trimmed(runbooks)}/${name}` }
}

export interface Addresses {
  readonly page?: string | undefined
  readonly runbooks?: string | undefined
}

const PAGES: Readonly<Record<Alert['scope'] | 'notifications', string>> = {
  endpoint: '/endpoints/{{ $labels.network }}/{{ $labels.endpoint }}',
  network: '/networks/{{ $labels.network }}',
  gateway: '/gateway',
  heartline: '/observer',
  notifications: '/notifications',
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '')
}
