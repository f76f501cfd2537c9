import { type ChannelType, jsonPost } from '../channel.ts'
import { cutLines, ICONS, linesOf, linksOf } from '../wording.ts'

/** Limit of Telegram. */
const MAX_TEXT = 4096

/** A message of a Telegram bot, without `parse_mode`, so that no character has a meaning. */
export const telegram: ChannelType<'telegram'> = {
  groups: true,
  render(said, { apiUrl, botToken, chatId }) {
    const text = [
      cutLines([`${ICONS[said.severity]} ${inert(said.text)}`, ...linesOf(said).map(inert)], MAX_TEXT - MAX_LINKS),
    ]
    for (const { url } of linksOf(said)) if (url.length < MAX_LINKS / 2) text.push(url)
    const body = { chat_id: chatId.reveal(), text: text.join('\n'), link_preview_options: { is_disabled: true } }
    return [jsonPost(apiUrl, body, { path: `/bot${botToken.reveal()}/sendMessage`, secrets: [botToken, chatId] })]
  },
}

const MAX_LINKS = 1024

/** Telegram itself makes links of mentions, commands, hashtags and addresses: a word joiner prevents that. */
function inert(text: string): string {
  return text.replace(/[@#$](?=\w)|(?<!\S)\/(?=\w)|(?<=[a-z])\.(?=[a-z])|:(?=\/\/)/gi, '$&\u2060')
}
