/** The Prometheus text format 0.0.4, or OpenMetrics 1.0.0. */
export type Format = 'text' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const UNIT = /_(seconds|bytes)$/

/** In OpenMetrics the header names a counter without `_total`, and has a line for the unit. */
export function headerLines(name: string, type: string, help: string, format: Format): string {
  switch (format) {
    case 'text':
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    case 'openmetrics': {
      const family = type === 'counter' ? name.replace(/_total$/, '') : name
      const unit = UNIT.exec(family)?.[1]
      const unitLine = unit === undefined ? '' : `# UNIT ${family} ${unit}\n`
      return `# TYPE ${family} ${type}\n${unitLine}# HELP ${family} ${help.replaceAll('"', '\\"')}\n`
    }
  }
}

/** The last line; in OpenMetrics, it marks the response as complete. */
export function endOf(format: Format): string {
  return format === 'openmetrics' ? '# EOF\n' : ''
}
