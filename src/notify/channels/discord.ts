import { type ChannelType, jsonPost } from '../channel.ts'
import { cut, cutLines, linesOf, linksOf, type Said } from '../wording.ts'

/** Limits of Discord: characters of a message, and of an embed's description. */
const MAX_CONTENT = 2000
const MAX_DESCRIPTION = 4096

/** A message of a Discord webhook. It mentions no user, and text of nodes is escaped. */
export const discord: ChannelType<'discord'> = {
  groups: true,
  render(said, { webhookUrl }) {
    const links = linksOf(said)
      .map(({ name, url }) => `[${name}](${url})`)
      .join(' · ')
    const lines = cutLines(linesOf(said).map(escapeMarkdown), MAX_DESCRIPTION - links.length - 1)
    const description = [lines, links].filter(Boolean).join('\n')
    const embeds = description === '' ? [] : [{ color: COLORS[said.severity], description }]
    const content = cutEscaped(said.text, MAX_CONTENT)
    return [jsonPost(webhookUrl, { content, embeds, allowed_mentions: { parse: [] } })]
  },
}

const COLORS: Readonly<Record<Said['severity'], number>> = {
  critical: 0xd32f2f,
  warning: 0xf57c00,
  ok: 0x388e3c,
  info: 0x1976d2,
}

/** Cuts before a backslash is parted from what it escapes. */
function cutEscaped(text: string, max: number): string {
  const escaped = escapeMarkdown(text)
  return escaped.length <= max ? escaped : escapeMarkdown(cut(text, Math.floor(max / 2)))
}

/** Escapes what Discord's Markdown knows; without its colon, an address is no link. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|[\]<@]|^[>#+-]|:(?=\/\/)/g, '\\$&')
}
