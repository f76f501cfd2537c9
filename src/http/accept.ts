import type { Format } from '../metrics/registry.ts'

/** Whether plain text is wanted rather than JSON, by the `Accept` header (RFC 9110, 12.5.1); JSON where both are alike. */
export function prefersText(accept: string): boolean {
  const ranges = accept.split(',').map(rangeOf)
  return qualityOf('text/plain', ranges) > qualityOf('application/json', ranges)
}

/** OpenMetrics where it is asked for by name and not for less than the text format, as Prometheus does; the text format otherwise. */
export function metricsFormat(accept: string | undefined): Format {
  const ranges = (accept ?? '').split(',').filter(isSpoken).map(rangeOf)
  const named = ranges.find(({ type }) => type === 'application/openmetrics-text')
  const openMetrics = named?.quality ?? 0
  return openMetrics > 0 && openMetrics >= qualityOf('text/plain', ranges) ? 'openmetrics' : 'text'
}

/** Of OpenMetrics this is version 1.0.0; where no version is named it is the one. */
function isSpoken(range: string): boolean {
  const version = /openmetrics-text\s*;(?:.*;)?\s*version\s*=\s*"?([^;"\s]+)/i.exec(range)?.[1]
  return version === undefined || version === '1.0.0'
}

interface Range {
  readonly type: string
  readonly quality: number
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.toLowerCase().split(';')
  const weight = parameters
    .map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1])
    .find((one) => one !== undefined)
  return { type: type.trim(), quality: weight === undefined ? 1 : Math.min(1, Number(weight)) }
}

/** The most exact range that covers the type decides. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  for (const covering of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const range = ranges.find((one) => one.type === covering)
    if (range !== undefined) return range.quality
  }
  return 0
}

/** Whether a page is wanted rather than a problem document: browsers name HTML, programs do not. */
export function prefersHtml(accept: string): boolean {
  const ranges = accept.split(',').map(rangeOf)
  return ranges.some(({ type, quality }) => type === 'text/html' && quality > 0)
}

export function acceptsGzip(header: string | string[] | undefined): boolean {
  const offers = String(header ?? '').split(',')
  return offers.some((offer) => {
    const [coding, ...parameters] = offer
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    return (coding === 'gzip' || coding === '*') && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
