import { type ChannelType, jsonPost } from '../channel.ts'
import { cut, cutLines, ICONS, type Link, linesOf, linksOfItem } from '../wording.ts'

/** Limits of Slack's Block Kit: characters of a section's text, blocks of a message. */
const MAX_SECTION = 3000
const MAX_LINKS = 20

/** A message of an incoming webhook. Text of nodes is in `plain_text` blocks, which have no markup and no mentions. */
export const slack: ChannelType<'slack'> = {
  groups: true,
  render(said, { webhookUrl }) {
    const lines = cutLines(linesOf(said), MAX_SECTION)
    const links = joined(said.items.slice(0, MAX_LINKS).flatMap(linksOfItem).map(linkOf))
    const blocks = [
      plainSection(`${ICONS[said.severity]} ${cut(said.text, MAX_SECTION - 3)}`),
      ...(lines === '' ? [] : [plainSection(lines)]),
      ...(links === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: links, verbatim: true } }]),
    ]
    // `text` is what a phone shows; only `&`, `<` and `>` have a meaning there.
    const text = cut(escape(cut(said.text, MAX_SECTION / 5)), MAX_SECTION)
    return [jsonPost(webhookUrl, { text, mrkdwn: false, unfurl_links: false, unfurl_media: false, blocks })]
  },
}

function plainSection(text: string): object {
  return { type: 'section', text: { type: 'plain_text', text, emoji: false } }
}

function linkOf({ name, url }: Link): string {
  return `<${escape(url)}|${name}>`
}

/** The links that fit into a section: half of one is no link. */
function joined(links: readonly string[]): string {
  let text = ''
  for (const link of links) {
    const longer = text === '' ? link : `${text} · ${link}`
    if (longer.length > MAX_SECTION) break
    text = longer
  }
  return text
}

/** https://docs.slack.dev/messaging/formatting-message-text#escaping */
function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
