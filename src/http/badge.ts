import { escaped } from './template-text.ts'
import type { StateView } from './wire-status.ts'

export interface Badge {
  readonly label: string
  readonly value: string
  readonly tone: StateView
}

/** Dark enough for white letters (WCAG AA, 4.5 to 1). */
const COLOURS: Readonly<Record<StateView, string>> = {
  up: '#0d7a4a',
  degraded: '#945600',
  down: '#bd1c31',
  maintenance: '#2a5db5',
  unknown: '#626c79',
}
const HEIGHT = 20
const PADDING = 6
const MOST_LETTERS = 60

/** A badge as an SVG picture that needs nothing else: no script, no font, no style sheet. */
export function badgeSvg({ label, value, tone }: Badge): string {
  const left = Math.round(widthOf(shortened(label)) + 2 * PADDING)
  const right = Math.round(widthOf(shortened(value)) + 2 * PADDING)
  const width = left + right
  const text = (x: number, of: string) =>
    `<text x="${x}" y="14" textLength="${Math.round(widthOf(of))}" lengthAdjust="spacingAndGlyphs">${escaped(of)}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escaped(`${label}: ${value}`)}"><title>${escaped(`${label}: ${value}`)}</title><clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="${HEIGHT}" fill="#3d4550"/><rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[tone]}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">${text(PADDING, shortened(label))}${text(left + PADDING, shortened(value))}</g></svg>`
}

function shortened(text: string): string {
  const letters = Array.from(text)
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS - 1).join('')}…` : text
}

/** Verdana at 11 px, near enough; `textLength` makes every other font fit. */
function widthOf(text: string): number {
  let width = 0
  for (const letter of text) {
    if (/[ijlI.,:;'|!]/.test(letter)) width += 4.2
    else if (/[mwMW%@]/.test(letter)) width += 10.6
    else if (/[A-Z]/.test(letter)) width += 7.8
    else width += letter.codePointAt(0) !== undefined && (letter.codePointAt(0) ?? 0) > 0x2e7f ? 11 : 6.8
  }
  return width
}
