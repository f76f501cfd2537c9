import { latency } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'

/** Numbers side by side, each below its label. */
export function figures(list: readonly Figure[]): TemplateResult {
  return html`
    <dl class="figures">
      ${list.map(
        ({ name, value, beside, tone }) => html`<div class=${tone ?? ''}>
          <dt>${name}</dt>
          <dd><b>${value}</b> ${beside === undefined ? nothing : html`<small>${beside}</small>`}</dd>
        </div>`,
      )}
    </dl>
  `
}

/** One number with its label. */
export interface Figure {
  readonly name: string
  readonly value: string | TemplateResult
  readonly beside?: string | TemplateResult
  /** Highlights a bad value. */
  readonly tone?: 'degraded' | 'down' | undefined
}

/** `90 MiB`, `1.2 GiB`. */
export function bytes(many: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = many
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Times of Heartline itself, which are often microseconds: `150 µs`, `2.5 ms`. */
export function fine(seconds: number | null): string {
  if (seconds === null) return '–'
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`
  return latency(seconds)
}
