import { duration } from '../../web/views/format.ts'
import { time, type UnixMs } from '../core/time.ts'

/** Formats times, numbers and tables as plain text for mails and terminals. */

/** In columns: mail clients wrap at about 80, and quoting adds two. */
const WIDTH = 78

/** `2026-01-01 00:00:10`, UTC. */
export function stamp(at: UnixMs): string {
  return time(at).slice(0, 19).replace('T', ' ')
}

export type Stamp = typeof stamp

/** `America/Argentina/ComodRivadavia` has 32 characters. For a text with many `+` in a query, V8 takes quadratic time. */
const LONGEST_ZONE = 64

/** The same in a time zone such as `Europe/Berlin`; `null` if there is no such zone. */
export function stampIn(timeZone: string): Stamp | null {
  if (timeZone === 'UTC') return stamp
  if (timeZone.length > LONGEST_ZONE) return null
  try {
    const two = '2-digit'
    const fields = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const
    const format = new Intl.DateTimeFormat('sv-SE', { ...fields, hourCycle: 'h23', timeZone })
    return (at) => format.format(at)
  } catch {
    return null
  }
}

/** At most two units, to the nearest second: `0 s`, `45 s`, `12 min 30 s`, `2 h`, `3 d 4 h`. */
export function span(ms: number): string {
  return duration(Math.max(0, Math.round(ms / 1000)))
}

export function milliseconds(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** One line without control and direction characters, which a terminal or mail client would interpret. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, ' ').replace(/\s+/g, ' ').trim()
}

/** Spaces at which a line must not break: between a number and its unit, and between a date and its time. */
const TOGETHER = /(?<=\d) (?=(?:ms|s|min|h|d|blocks?)\b)|(?<=\d{4}-\d\d-\d\d) (?=\d\d:)/g

/** Lines of at most `WIDTH` columns; all but the first are indented by `hang`. A word longer than a line is split. */
export function wrap(text: string, first = '', hang = first): string[] {
  const lines: string[] = []
  let line = first
  let empty = true
  for (const word of text.replace(TOGETHER, '\u00a0').split(' ')) {
    let rest = Array.from(word)
    if (!empty && columns(line) + 1 + rest.length > WIDTH) {
      lines.push(line)
      line = hang
      empty = true
    }
    if (!empty) line += ' '
    while (columns(line) + rest.length > WIDTH) {
      const room = Math.max(1, WIDTH - columns(line))
      lines.push(line + rest.slice(0, room).join(''))
      rest = rest.slice(room)
      line = hang
    }
    line += rest.join('')
    empty = false
  }
  return [...lines, line].map((one) => one.replaceAll('\u00a0', ' ').trimEnd())
}

/** Aligns rows in columns two spaces apart; the columns in `right` are right-aligned. */
export function table(rows: readonly (readonly string[])[], indent: string, right: readonly number[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => columns(row[at] ?? ''))))
  return rows.map((row) => {
    const cells = row.map((cell, at) =>
      right.includes(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
    )
    return (indent + cells.join('  ')).trimEnd()
  })
}

function columns(text: string): number {
  return Array.from(text).length
}
