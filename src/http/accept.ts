/** Whether plain text is wanted rather than JSON, by the `Accept` header (RFC 9110, 12.5.1); JSON where both are alike. */
export function prefersText(accept: string): boolean {
  const ranges = accept.split(',').map(rangeOf)
  return qualityOf('text/plain', ranges) > qualityOf('application/json', ranges)
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
