import type { ChannelView, DeliveryView, NotificationsView } from '../../src/http/wire/notifications.ts'
import type { SilenceView } from '../../src/http/wire/silences.ts'
import { count, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { incidentPath } from './route.ts'
import { silencesSection } from './silences.ts'
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
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${NOTIFICATION_WORDS.channelTable}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">${NOTIFICATION_WORDS.channel}</th>
            <th scope="col">${NOTIFICATION_WORDS.type}</th>
            <th scope="col">${NOTIFICATION_WORDS.health}</th>
            <th scope="col">${NOTIFICATION_WORDS.lastSent}</th>
            <th scope="col" class="n">${NOTIFICATION_WORDS.waiting}</th>
            <th scope="col" class="n">${NOTIFICATION_WORDS.sent}</th>
            <th scope="col" class="n">${NOTIFICATION_WORDS.retried}</th>
            <th scope="col" class="n">${NOTIFICATION_WORDS.rejected}</th>
            <th scope="col" class="n">${NOTIFICATION_WORDS.expired}</th>
          </tr>
        </thead>
        <tbody>
          ${channels.map(
            ({ name, type, failing, last_error: error, last_sent_at: sentAt, waiting, results }) => html`<tr>
              <th scope="row">${name}</th>
              <td data-label=${NOTIFICATION_WORDS.type}>${type}</td>
              <td data-label=${NOTIFICATION_WORDS.health}><span>${mark(failing ? 'down' : 'up')} ${failing ? NOTIFICATION_WORDS.failing : NOTIFICATION_WORDS.working}${error === null ? nothing : html`<br /><small>${error}</small>`}</span></td>
              <td data-label=${NOTIFICATION_WORDS.lastSent}>${sentAt === null ? '–' : exactTime(sentAt, zone)}</td>
              <td class="n" data-label=${NOTIFICATION_WORDS.waiting}>${count(waiting)}</td>
              <td class="n" data-label=${NOTIFICATION_WORDS.sent}>${count(results.sent)}</td>
              <td class="n" data-label=${NOTIFICATION_WORDS.retried}>${count(results.retried)}</td>
              <td class="n" data-label=${NOTIFICATION_WORDS.rejected}>${count(results.rejected)}</td>
              <td class="n" data-label=${NOTIFICATION_WORDS.expired}>${count(results.expired)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}

function deliveryTable(deliveries: readonly DeliveryView[], zone: Zone): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${NOTIFICATION_WORDS.deliveryTable}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">${NOTIFICATION_WORDS.time}</th>
            <th scope="col">${NOTIFICATION_WORDS.channel}</th>
            <th scope="col">${NOTIFICATION_WORDS.message}</th>
            <th scope="col">${NOTIFICATION_WORDS.about}</th>
            <th scope="col">${NOTIFICATION_WORDS.result}</th>
          </tr>
        </thead>
        <tbody>
          ${deliveries.map(
            ({
              channel,
              type,
              incident,
              member,
              network,
              endpoint,
              created_at: at,
              sent_at: sentAt,
              result,
              error,
            }) => html`<tr>
              <td data-label=${NOTIFICATION_WORDS.time}>${exactTime(sentAt ?? at, zone)}</td>
              <th scope="row">${channel}</th>
              <td data-label=${NOTIFICATION_WORDS.message}>${NOTIFICATION_WORDS.types[type]}</td>
              <td data-label=${NOTIFICATION_WORDS.about}>${incident === null ? NOTIFICATION_WORDS.itself(network, member) : html`<a href=${incidentPath(incident)}>${endpoint === null ? network : `${network}/${endpoint}`}</a>`}</td>
              <td data-label=${NOTIFICATION_WORDS.result}><span>${result === null ? NOTIFICATION_WORDS.pending : NOTIFICATION_WORDS.results[result]}${error === null ? nothing : html`<br /><small>${error}</small>`}</span></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}
