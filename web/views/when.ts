import { moment, type Zone } from './format.ts'
import { html, type TemplateResult } from './lit.ts'

/** A time range, without redundant parts. */
export function fromTo(fromMs: number, toMs: number, zone: Zone): string {
  if (toMs - fromMs < 60_000) return `${clockOf(fromMs, zone)} to ${clockOf(toMs, zone)}`
  const [from, to] = [day(fromMs, zone), day(toMs - 1, zone)]
  if (toMs - fromMs > 14 * DAY_MS) return `${from} to ${to}`
  const end = minute(toMs, zone)
  return `${from}, ${minute(fromMs, zone)} to ${from === to ? end : `${to}, ${end}`}`
}

const DAY_MS = 86_400_000
const FORMATS = { local: formats(), utc: formats('UTC') }

function formats(timeZone?: string) {
  const zone = timeZone === undefined ? {} : { timeZone }
  const clock = { ...zone, hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
  return {
    day: new Intl.DateTimeFormat('en-GB', { ...zone, day: 'numeric', month: 'short' }),
    date: new Intl.DateTimeFormat('en-GB', {
      ...zone,
      weekday: 'long',
      day: 'numeric',
      month: 'long',
      year: 'numeric',
    }),
    minute: new Intl.DateTimeFormat('en-GB', { ...zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    clock: new Intl.DateTimeFormat('en-GB', clock),
  }
}

/** `16 Nov`. */
export function day(ms: number, zone: Zone): string {
  return FORMATS[zone].day.format(ms)
}

/** `Saturday 21 November 2026`. */
export function dateOf(ms: number, zone: Zone): string {
  return FORMATS[zone].date.format(ms)
}

/** Puts the day before a time if what it belongs to lasted longer than one: `3 Nov, 19:03`. */
export function dated(time: string, ms: number, lastedMs: number, zone: Zone): string {
  return lastedMs > DAY_MS ? `${day(ms, zone)}, ${time}` : time
}

/** `19:03`. */
export function minute(ms: number, zone: Zone): string {
  return FORMATS[zone].minute.format(ms)
}

/** `19:03:04`. */
export function clockOf(ms: number, zone: Zone): string {
  return FORMATS[zone].clock.format(ms)
}

/** Milliseconds since midnight of its day. */
export function sinceMidnight(ms: number, zone: Zone): number {
  if (zone === 'utc') return ms % DAY_MS
  const at = new Date(ms)
  return ((at.getHours() * 60 + at.getMinutes()) * 60 + at.getSeconds()) * 1000
}

/** The value of a `datetime-local` field. */
export function fieldTime(ms: number, zone: Zone): string {
  const offset = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offset).toISOString().slice(0, 16)
}

/** An axis label: `14:05`, `14:05:30` for short steps, and the day at midnight. */
export function tickText(ms: number, apartMs: number, zone: Zone): string {
  const time = minute(ms, zone)
  if (apartMs >= DAY_MS || (time === '00:00' && clockOf(ms, zone).endsWith(':00'))) return day(ms, zone)
  return apartMs < 60_000 ? clockOf(ms, zone) : time
}

/** A time with its date, as machines read it too. */
export function exactTime(at: string, zone: Zone): TemplateResult {
  return html`<time datetime=${at}>${moment(at, zone)}</time>`
}
