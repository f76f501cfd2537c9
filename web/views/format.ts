/** How the page writes numbers and times. Pure functions: the current time is an argument. */

const whole = new Intl.NumberFormat('en-US')

export function count(value: number): string {
  return whole.format(value)
}

export function blocks(many: number): string {
  return `${count(many)} ${many === 1 ? 'block' : 'blocks'}`
}

/** Two units at most: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(seconds: number): string {
  if (seconds < 0) return '0 s'
  if (seconds < 10) return `${Math.floor(seconds * 10) / 10} s`
  const s = Math.floor(seconds)
  if (s < 60) return `${s} s`
  if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's')
  if (s < 86_400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min')
  return two(Math.floor(s / 86_400), 'd', Math.floor((s % 86_400) / 3600), 'h')
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** One unit: `12 s`, `3 min`, `2 h`, `3 d`. */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds))
  if (s < 120) return `${s} s`
  if (s < 7200) return `${Math.floor(s / 60)} min`
  if (s < 172_800) return `${Math.floor(s / 3600)} h`
  return `${Math.floor(s / 86_400)} d`
}

export function latency(seconds: number): string {
  const ms = seconds * 1000
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 1000 ? `${Math.round(ms)} ms` : `${seconds.toFixed(1)} s`
}

const HEIGHT = /(?<=\b(?:height|block) )\d{4,15}\b|(?<![\w.,])\d{4,15}(?= blocks?\b)/g

/** Keeps a number and its unit on one line, and adds separators to heights and block counts. */
export function unbroken(sentence: string): string {
  return sentence
    .replace(HEIGHT, (digits) => count(Number(digits)))
    .replace(/(\d) (?=(?:ms|s|min|h|d|blocks?)\b)/g, '$1\u00a0')
}

/** Seconds from an RFC 3339 time to now, never negative. */
export function since(time: string, nowMs: number): number {
  return Math.max(0, (nowMs - Date.parse(time)) / 1000)
}

export type Zone = 'local' | 'utc'

const FORMATS = {
  local: formatOf(),
  utc: formatOf('UTC'),
}

function formatOf(timeZone?: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    ...(timeZone === undefined ? {} : { timeZone }),
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
}

/** `21 Nov 2026, 19:03:04`, with `UTC` if that is the chosen zone. */
export function moment(time: string | number, zone: Zone): string {
  const text = FORMATS[zone].format(typeof time === 'number' ? time : Date.parse(time))
  return zone === 'utc' ? `${text} UTC` : text
}

/** `UTC`, `GMT+1`: the zone of all times on the page. */
export function zoneName(zone: Zone): string {
  return ZONES[zone].formatToParts().find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

const ZONES = {
  local: new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }),
  utc: new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short', timeZone: 'UTC' }),
}

/** A ratio, never rounded up and always with as many digits, so that ratios of one view compare: `99.980 %`; `100 %` and `0 %` only for 1 and 0. */
export function percent(ratio: number, digits = 3): string {
  if (ratio >= 1) return '100 %'
  if (ratio === 0) return '0 %'
  const scale = 10 ** digits
  return `${(Math.floor(ratio * 100 * scale + 1e-7) / scale).toFixed(digits)} %`
}
