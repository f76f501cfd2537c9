import { Secret } from '../../secret.ts'
import { type ChannelType, jsonPost } from '../channel.ts'
import { cut, cutLines, linesOf, type Said } from '../wording.ts'

/** The server takes 4096 bytes; a character may have four. */
const MAX_MESSAGE = 1024
const MAX_TITLE = 200

/** A message for ntfy, published as JSON, without Markdown. */
export const ntfy: ChannelType<'ntfy'> = {
  groups: true,
  render(said, { url, topic, token }) {
    const [first] = said.items
    const actions = first?.runbookUrl == null ? [] : [{ action: 'view', label: 'Runbook', url: first.runbookUrl }]
    const body = {
      topic: topic.reveal(),
      title: cut(said.text, MAX_TITLE),
      message: cutLines([said.text, ...linesOf(said)], MAX_MESSAGE),
      priority: PRIORITIES[said.severity],
      tags: [TAGS[said.severity]],
      ...(first?.url == null ? {} : { click: first.url }),
      ...(actions.length === 0 ? {} : { actions }),
    }
    const headers = token === null ? {} : { authorization: new Secret(`Bearer ${token.reveal()}`) }
    return [jsonPost(url, body, { headers, secrets: [topic, ...(token === null ? [] : [token])] })]
  },
}

const PRIORITIES: Readonly<Record<Said['severity'], number>> = { critical: 5, warning: 4, ok: 3, info: 3 }
const TAGS: Readonly<Record<Said['severity'], string>> = {
  critical: 'red_circle',
  warning: 'orange_circle',
  ok: 'green_circle',
  info: 'information_source',
}
