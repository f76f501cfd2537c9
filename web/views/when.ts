import { minute, type Zone } from './format.ts'
import { ENDPOINT } from './words-endpoint.ts'

/** A time range, without redundant parts. */
export function fromTo(fromMs: number, toMs: number, zone: Zone): string {
  if (toMs - fromMs < 60_000) return ENDPOINT.fromTo(clock(fromMs, zone), clock(toMs, zone))
  const [from, to] = [day(fromMs, zone), day(toMs - 1, zone)]
  if (toMs - fromMs > 14 * 86_400_000) return ENDPOINT.fromTo(from, to)
  const end = minute(toMs, zone)
  return ENDPOINT.fromTo(`${from}, ${minute(fromMs, zone)}`, from === to ? end : `${to}, ${end}`)
}

const FORMATS = { local: formats(), utc: formats('UTC') }

function formats(timeZone?: string): { readonly day: Intl.DateTimeFormat; readonly clock: Intl.DateTimeFormat } {
  const at = timeZone === undefined ? {} : { timeZone }
  return {
    day: new Intl.DateTimeFormat('en-GB', { ...at, day: 'numeric', month: 'short' }),
    clock: new Intl.DateTimeFormat('en-GB', {
      ...at,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
  }
}

/** `16 Nov`. */
export function day(ms: number, zone: Zone): string {
  return FORMATS[zone].day.format(ms)
}

/** `14:05:09`. */
function clock(ms: number, zone: Zone): string {
  return FORMATS[zone].clock.format(ms)
}

/** An axis label: `14:05`, `14:05:30` for short steps, and the day at midnight. */
export function tickText(ms: number, apartMs: number, zone: Zone): string {
  const time = minute(ms, zone)
  if (apartMs >= 86_400_000 || (time === '00:00' && clock(ms, zone).endsWith(':00'))) return day(ms, zone)
  return apartMs < 60_000 ? clock(ms, zone) : time
}
