import type { ChannelView, DeliveryView, NotificationsView } from '../../src/http/wire/notifications.ts'
import type { SilenceView } from '../../src/http/wire/silences.ts'
import { dataTable } from './data-table.ts'
import { count, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { incidentPath } from './route.ts'
import { silencesSection } from './silence-forms.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { exactTime } from './when.ts'
import { NOTIFICATION_WORDS } from './words-notifications.ts'

interface Data extends NotificationsView {
  readonly silences: readonly SilenceView[]
}

/** Channels with their health, what waits, silences, and the latest messages. */
export const view = defineView<Data>({
  title: ({ brand }) => `${NOTIFICATION_WORDS.title} · ${brand.title}`,
  load,
  draw: (model) => (model.data.channels.length === 0 && model.data.heartbeat === null ? off() : draw(model)),
  refreshMs: 5000,
  hasStyle: true,
})

async function load(sources: Sources): Promise<Answer<Data>> {
  const [notifications, silences] = await Promise.all([sources.notifications(), sources.silences()])
  if (!notifications.ok) return notifications
  return { ok: true, value: { ...notifications.value, silences: silences.ok ? silences.value.silences : [] } }
}

function off(): TemplateResult {
  return html`
    <header class="subject"><h1 tabindex="-1">${NOTIFICATION_WORDS.title}</h1><p>${NOTIFICATION_WORDS.off}</p></header>
    <section class="card off">
      <p>${NOTIFICATION_WORDS.offMeaning}</p>
      <pre tabindex="0" role="region" aria-label=${NOTIFICATION_WORDS.off}>${NOTIFICATION_WORDS.offExample}</pre>
      <p>${NOTIFICATION_WORDS.offAfter}</p>
    </section>
  `
}

function draw({ data, status, route, settings: { zone } }: Model<Data>): TemplateResult {
  const { member, channels, deliveries, silences, queue, oldest_seconds: oldest } = data
  return html`
    <header class="subject">
      <h1 tabindex="-1">${NOTIFICATION_WORDS.title}</h1>
      <p>${NOTIFICATION_WORDS.queue(queue, oldest)}</p>
      ${member === undefined ? nothing : html`<p class="quiet">${NOTIFICATION_WORDS.ofMember(member)}</p>`}
      ${heartbeat(data, zone)}
    </header>
    <div class="sheet">
      <section class="card wide" aria-labelledby="channels">
        <h2 id="channels">${NOTIFICATION_WORDS.channels}</h2>
        ${channelTable(channels, zone)}
      </section>
      ${silencesSection(silences, status?.networks ?? [], { chosen: route.query.silence, zone })}
      <section class="card wide" aria-labelledby="deliveries">
        <h2 id="deliveries">${NOTIFICATION_WORDS.deliveries}</h2>
        ${deliveries.length === 0 ? html`<p class="quiet">${NOTIFICATION_WORDS.none}</p>` : deliveryTable(deliveries, zone)}
      </section>
    </div>
  `
}

function heartbeat({ heartbeat: of }: NotificationsView, zone: Zone): TemplateResult | typeof nothing {
  if (of === null) return nothing
  const { last_sent_at: at, last_error: error } = of
  const last =
    at === null ? NOTIFICATION_WORDS.heartbeatNever : html`${NOTIFICATION_WORDS.heartbeatAt} ${exactTime(at, zone)}`
  return html`<p class="quiet">${NOTIFICATION_WORDS.heartbeat}: ${last}${error === null ? nothing : html`. ${error}`}</p>`
}

function channelTable(channels: readonly ChannelView[], zone: Zone): TemplateResult {
  return dataTable(NOTIFICATION_WORDS.channelTable, channels, [
    [NOTIFICATION_WORDS.channel, ({ name }) => name, 'head'],
    [NOTIFICATION_WORDS.type, ({ type }) => type],
    [
      NOTIFICATION_WORDS.health,
      ({ failing, last_error: error }) =>
        html`<span>${mark(failing ? 'down' : 'up')} ${failing ? NOTIFICATION_WORDS.failing : NOTIFICATION_WORDS.working}${below(error)}</span>`,
    ],
    [NOTIFICATION_WORDS.lastSent, ({ last_sent_at: at }) => (at === null ? '–' : exactTime(at, zone))],
    [NOTIFICATION_WORDS.waiting, ({ waiting }) => count(waiting), 'n'],
    [NOTIFICATION_WORDS.sent, ({ results }) => count(results.sent), 'n'],
    [NOTIFICATION_WORDS.retried, ({ results }) => count(results.retried), 'n'],
    [NOTIFICATION_WORDS.rejected, ({ results }) => count(results.rejected), 'n'],
    [NOTIFICATION_WORDS.expired, ({ results }) => count(results.expired), 'n'],
  ])
}

function deliveryTable(deliveries: readonly DeliveryView[], zone: Zone): TemplateResult {
  return dataTable(NOTIFICATION_WORDS.deliveryTable, deliveries, [
    [NOTIFICATION_WORDS.time, ({ sent_at: sentAt, created_at: createdAt }) => exactTime(sentAt ?? createdAt, zone)],
    [NOTIFICATION_WORDS.channel, ({ channel }) => channel, 'head'],
    [NOTIFICATION_WORDS.message, ({ type }) => NOTIFICATION_WORDS.types[type]],
    [NOTIFICATION_WORDS.about, subjectOf],
    [
      NOTIFICATION_WORDS.result,
      ({ result, error }) =>
        html`<span>${result === null ? NOTIFICATION_WORDS.pending : NOTIFICATION_WORDS.results[result]}${below(error)}</span>`,
    ],
  ])
}

function below(error: string | null): TemplateResult | typeof nothing {
  return error === null ? nothing : html`<br /><small>${error}</small>`
}

function subjectOf({ incident, member, network, endpoint }: DeliveryView): TemplateResult | string {
  if (incident === null) return NOTIFICATION_WORDS.itself(network, member)
  return html`<a href=${incidentPath(incident)}>${endpoint === null ? network : `${network}/${endpoint}`}</a>`
}
