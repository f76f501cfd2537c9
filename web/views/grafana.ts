/** The address of a dashboard of `grafana/dashboards/` in a time range; `null` without a Grafana. */
export function grafanaPath(
  base: string | undefined,
  dashboard: 'endpoint' | 'gateway' | 'itself',
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  variables: Readonly<Record<string, string>> = {},
): string | null {
  if (base === undefined) return null
  const named = Object.entries(variables).map(([name, value]) => [`var-${name}`, value])
  const time = { from: String(Math.floor(fromMs)), to: String(Math.ceil(toMs)) }
  const query = new URLSearchParams({ ...Object.fromEntries(named), ...time })
  return `${base}/d/heartline-${dashboard}?${query.toString()}`
}
