import type { UnixMs } from './time.ts'

/** Planned maintenance of endpoints: their failures in [from, until) do not count. */
export interface MaintenancePeriod {
  /** The window's name in the configuration. */
  readonly name: string
  readonly network: string
  /** Names; `null` means all endpoints of the network. */
  readonly endpoints: readonly string[] | null
  readonly from: UnixMs
  readonly until: UnixMs
}

export function concerns(
  period: MaintenancePeriod,
  endpoint: { readonly network: string; readonly name: string },
): boolean {
  return period.network === endpoint.network && (period.endpoints === null || period.endpoints.includes(endpoint.name))
}

/** When planned maintenance holds, from one or several periods. */
export type MaintenanceSpan = Pick<MaintenancePeriod, 'from' | 'until'>

/** From the beginning of the first period that holds at `now` to the end of the last one. */
export function spanAt(periods: readonly MaintenancePeriod[], now: UnixMs): MaintenanceSpan | null {
  const holding = periods.filter(({ from, until }) => from <= now && now < until)
  return holding.length === 0
    ? null
    : {
        from: Math.min(...holding.map(({ from }) => from)),
        until: Math.max(...holding.map(({ until }) => until)),
      }
}

/** The period that holds at `now`; if there are several, the one that ends last. */
export function periodAt(periods: readonly MaintenancePeriod[], now: UnixMs): MaintenancePeriod | null {
  let holding: MaintenancePeriod | null = null
  for (const period of periods) {
    if (period.from > now || now >= period.until) continue
    if (holding === null || period.until > holding.until) holding = period
  }
  return holding
}
