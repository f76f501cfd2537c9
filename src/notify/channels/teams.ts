import { type ChannelType, jsonPost } from '../channel.ts'
import { cut, cutLines, linesOf, linksOf, type Said } from '../wording.ts'

/** Teams takes 28 KB; a character may have four bytes, and six in JSON. */
const MAX_TITLE = 500
const MAX_DETAILS = 3000

/** An Adaptive Card for a Teams workflow. Text of nodes is in `TextRun`s, which have no Markdown. */
export const teams: ChannelType<'teams'> = {
  groups: true,
  render(said, { webhookUrl }) {
    const lines = cutLines(linesOf(said), MAX_DETAILS)
    const actions = linksOf(said).map(({ name, url }) => ({ type: 'Action.OpenUrl', title: name, url }))
    const content = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        richText(cut(said.text, MAX_TITLE), { weight: 'Bolder', color: COLORS[said.severity] }),
        ...(lines === '' ? [] : lines.split('\n').map((line) => richText(line))),
      ],
      ...(actions.length === 0 ? {} : { actions }),
    }
    const attachments = [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }]
    return [jsonPost(webhookUrl, { type: 'message', attachments })]
  },
}

const COLORS: Readonly<Record<Said['severity'], string>> = {
  critical: 'Attention',
  warning: 'Warning',
  ok: 'Good',
  info: 'Accent',
}

function richText(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] }
}
