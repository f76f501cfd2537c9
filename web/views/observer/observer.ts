import type { OwnEventView, OwnHealthView } from '../../../src/http/wire/own-health.ts'
import { padded, smallCharts } from '../charts/small-charts.ts'
import { ticking } from '../endpoint-row.ts'
import { bytes, fine } from '../figures.ts'
import { count, duration } from '../format.ts'
import { grafanaPath } from '../grafana.ts'
import { guard, html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { type Answer, defineView, type Model, type Sources } from '../view.ts'
import { exactTime } from '../when.ts'
import { WORDS } from '../words.ts'
import { clusterSection } from './observer-cluster.ts'
import { observerFigures } from './observer-figures.ts'
import { EVENT_NAMES, OBSERVER_WORDS } from './words-observer.ts'

/** Heartline's own health, which explains gaps in the history. */
export const view = defineView<Data>({
  title: ({ brand }) => `${OBSERVER_WORDS.title} · ${brand.title}`,
  load,
  draw,
  refreshMs: 5000,
  hasStyle: true,
})

/** `null` in the public view. */
type Data = OwnHealthView | null

async function load(sources: Sources): Promise<Answer<Data>> {
  const answer = await sources.observer()
  return !answer.ok && answer.why === 'locked' ? { ok: true, value: null } : answer
}

function draw(model: Model<Data>): TemplateResult {
  const { data, status } = model
  const { impaired, judging, reasons } = status?.observer ?? data ?? { impaired: false, judging: true, reasons: [] }
  const isWell = !impaired && reasons.length === 0
  return html`
    <header class="subject">
      <h1 tabindex="-1">${mark(isWell ? 'up' : 'degraded')}${OBSERVER_WORDS.title}</h1>
      <p class=${impaired ? 'bad' : ''}>
        ${isWell ? OBSERVER_WORDS.healthy : judging ? WORDS.ownTrouble : WORDS.impaired}
      </p>
    </header>
    ${reasons.length === 0 ? nothing : html`<ul class="plain reasons-now">${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}
    ${data === null ? html`<p class="quiet">${OBSERVER_WORDS.locked}</p>` : figuresOf(data, model)}
  `
}

function figuresOf(data: OwnHealthView, { settings: { zone }, nowMs }: Model<Data>): TemplateResult {
  const { course: of, events, cluster } = data
  return html`
    <div class="sheet">
      ${observerFigures(data, zone, nowMs)} ${cluster === null ? nothing : clusterSection(cluster, Date.parse(data.generated_at), zone, nowMs)}
      <section class="card wide" aria-labelledby="charts">
        <h2 id="charts">${OBSERVER_WORDS.charts}</h2>
        ${guard([data, zone], () =>
          smallCharts(
            padded({
              id: 'own-charts',
              title: OBSERVER_WORDS.charts,
              startMs: Date.parse(of.from),
              stepMs: of.step_seconds * 1000,
              cells: of.loop_lag_seconds.length,
              zone,
              grafana: grafanaPath(data.grafana_url, 'itself', {
                fromMs: Date.parse(of.from),
                toMs: Date.parse(data.generated_at),
              }),
              panels: [
                // Above 0.5 s polls do not count, see docs/operations.md.
                { name: OBSERVER_WORDS.loopLag, values: of.loop_lag_seconds, write: fine, limit: 0.5 },
                { name: OBSERVER_WORDS.pollLag, values: of.poll_lag_seconds, write: fine },
                { name: OBSERVER_WORDS.skipped, values: of.skips, write: count, limit: 1 },
                { name: OBSERVER_WORDS.queue, values: of.queue_rows, write: count },
                { name: OBSERVER_WORDS.commits, kind: 'line', values: of.commit_seconds, write: fine },
                { name: OBSERVER_WORDS.memory, kind: 'line', values: of.resident_bytes, write: bytes },
              ],
            }),
          ),
        )}
      </section>
      <section class="card wide" aria-labelledby="events">
        <h2 id="events">${OBSERVER_WORDS.events} <small>${OBSERVER_WORDS.eventsMeaning}</small></h2>
        <ol class="own-events">
          ${events.map((event) => eventItem(event, zone, nowMs))}
        </ol>
      </section>
    </div>
  `
}

function eventItem({ kind, from, until, text }: OwnEventView, zone: 'local' | 'utc', nowMs: number): TemplateResult {
  const fromMs = Date.parse(from)
  const lastedS = until === null ? 0 : (Date.parse(until) - fromMs) / 1000
  return html`<li class=${kind}>
    ${exactTime(from, zone)}
    <span class="code">${EVENT_NAMES[kind]}</span>
    <span
      >${text}${
        until === null
          ? html`, <b>${OBSERVER_WORDS.ongoing}, ${ticking(from, zone, nowMs)}</b>`
          : lastedS >= 1 && kind === 'trouble'
            ? `, ${OBSERVER_WORDS.lasted(duration(Math.round(lastedS)))}`
            : nothing
      }</span
    >
  </li>`
}
