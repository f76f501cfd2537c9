import { Secret } from '../../secret.ts'
import { type ChannelType, type HttpRequest, jsonPost } from '../channel.ts'
import { cut, linesOf, linksOf, type Said } from '../wording.ts'

/** Limits of the Alert API. */
const MAX_MESSAGE = 130
const MAX_DESCRIPTION = 15_000
const MAX_NOTE = 25_000
const MAX_ALIAS = 512
const MAX_TAG = 50

/** Opsgenie's Alert API: one alert for each incident, told apart by its alias. */
export const opsgenie: ChannelType<'opsgenie'> = {
  groups: false,
  render(said, { apiUrl, apiKey }) {
    const headers = { authorization: new Secret(`GenieKey ${apiKey.reveal()}`) }
    const alias = cut(said.subject, MAX_ALIAS)
    const ofAlert = `/v2/alerts/${encodeURIComponent(alias)}`
    const [item] = said.items
    const { network = 'heartline', endpoint = null } = item?.report ?? {}
    if (said.isOver) {
      const path = `${ofAlert}/close?identifierType=alias`
      return [
        jsonPost(apiUrl, { source: 'Heartline', note: cut(said.text, MAX_NOTE) }, { path, headers, secrets: [apiKey] }),
      ]
    }
    const links = linksOf(said).map(({ url }) => url)
    const message = cut(said.text, MAX_MESSAGE)
    const priority = PRIORITIES[said.severity]
    const body = {
      message,
      alias,
      description: cut([said.text, ...linesOf(said), ...links].map(inert).join('\n'), MAX_DESCRIPTION),
      entity: endpoint === null ? network : `${network}/${endpoint}`,
      source: 'Heartline',
      priority,
      tags: [cut(network, MAX_TAG)],
    }
    const create = jsonPost(apiUrl, body, { path: '/v2/alerts', headers, secrets: [apiKey] })
    if (said.type !== 'incident.worse' && said.type !== 'incident.better') return [create]
    // Another alert with the alias of one that is open raises its count, and changes neither message nor priority.
    const put = (member: object, name: string): HttpRequest => {
      const path = `${ofAlert}/${name}?identifierType=alias`
      return { ...jsonPost(apiUrl, member, { path, headers, secrets: [apiKey] }), method: 'PUT' }
    }
    return [{ ...create, next: { ...put({ message }, 'message'), next: put({ priority }, 'priority') } }]
  },
}

/** A description may have HTML: a tag does not begin with a word joiner. */
function inert(text: string): string {
  return text.replace(/<(?=[a-z/!?])/gi, '$&\u2060')
}

const PRIORITIES: Readonly<Record<Said['severity'], string>> = { critical: 'P1', warning: 'P3', ok: 'P5', info: 'P5' }
