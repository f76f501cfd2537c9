import type { IncidentConditionView, IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import { codeLink } from '../endpoint-row.ts'
import { duration, unbroken, type Zone } from '../format.ts'
import { html, nothing, svg, type TemplateResult } from '../lit.ts'
import { clockOf, dated } from '../when.ts'
import { NEXT_STEPS } from '../words-runbooks.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

/** Every condition of an incident, with the times at which it held. */
export function incidentConditions(
  { conditions, opened_at: openedAt, closed_at: closedAt }: IncidentSummaryView,
  zone: Zone,
  nowMs: number,
): TemplateResult {
  const fromMs = Date.parse(openedAt)
  const toMs = Math.max(fromMs + 1, closedAt === null ? nowMs : Date.parse(closedAt))
  return html`
    <ul class="reasons">
      ${grouped(conditions).map((times) => reason(times, { fromMs, toMs, zone }))}
    </ul>
  `
}

const WIDTH = 1000
const LEAST = 6

/** In the order of first appearance. */
function grouped(conditions: readonly IncidentConditionView[]): readonly (readonly IncidentConditionView[])[] {
  const byKind = new Map<string, IncidentConditionView[]>()
  for (const condition of conditions) {
    const kind = `${condition.code} ${condition.state}`
    byKind.set(kind, [...(byKind.get(kind) ?? []), condition])
  }
  return [...byKind.values()]
}

interface Extent {
  readonly fromMs: number
  readonly toMs: number
  readonly zone: Zone
}

function reason(times: readonly IncidentConditionView[], { fromMs, toMs, zone }: Extent): TemplateResult {
  const [first] = times
  const latest = times.at(-1)
  if (first === undefined || latest === undefined) return html``
  const place = (ms: number) => Math.round(WIDTH * 10 * Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)))) / 10
  const ends = ({ since, until }: IncidentConditionView) =>
    [Date.parse(since), until === null ? toMs : Date.parse(until)] as const
  const heldMs = times.map(ends).reduce((sum, [since, until]) => sum + Math.max(0, until - since), 0)
  const clock = (time: string) => dated(clockOf(Date.parse(time), zone), Date.parse(time), toMs - fromMs, zone)
  const held = duration(Math.round(heldMs / 1000))
  const { code, state, message } = latest
  return html`<li class=${state}>
    <p>${codeLink(code)} ${unbroken(message)}</p>
    <p class="quiet">${NEXT_STEPS[code]}</p>
    <svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="ground" y="2" width="1000" height="4" />
      ${times.map((one) => {
        const [since, until] = ends(one)
        const x = Math.min(WIDTH - LEAST, place(since))
        return svg`<rect class=${state} x=${x} width=${Math.max(LEAST, place(until) - x)} height="8" />`
      })}
    </svg>
    <p class="quiet">
      ${state === 'up' ? INCIDENT_WORDS.noChange : state}, ${times.length === 1 ? nothing : `${INCIDENT_WORDS.often(times.length, held)}, `}<time
        datetime=${latest.since}
        >${clock(latest.since)}</time
      > –
      ${latest.until === null ? INCIDENT_WORDS.ongoing : html`<time datetime=${latest.until}>${clock(latest.until)}</time>`}${times.length === 1 ? `, ${held}` : nothing}
    </p>
  </li>`
}
