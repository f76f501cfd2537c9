import type { Zone } from './format.ts'

const DAY_MS = 86_400_000
const FORMATS = { local: formats(), utc: formats('UTC') }

function formats(timeZone?: string): { readonly day: Intl.DateTimeFormat; readonly clock: Intl.DateTimeFormat } {
  const zone = timeZone === undefined ? {} : { timeZone }
  return {
    day: new Intl.DateTimeFormat('en-GB', { ...zone, weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
    clock: new Intl.DateTimeFormat('en-GB', {
      ...zone,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
  }
}

/** `Saturday 21 November 2026`. */
export function dayOf(ms: number, zone: Zone): string {
  return FORMATS[zone].day.format(ms)
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
