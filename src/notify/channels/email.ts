import type { ChannelType } from '../channel.ts'
import { cut, type Link, linesOf, linksOf, type Said } from '../wording.ts'

const MAX_SUBJECT = 200
const MAX_BODY = 100_000

/** One mail for each message; `References` makes one thread of all mails about an incident. */
export const email: ChannelType<'email'> = {
  groups: false,
  render(said, { smtp, from, to }) {
    const domain = from.slice(from.lastIndexOf('@') + 1).replace(/[^A-Za-z0-9.-]/g, '') || 'heartline'
    const links = linksOf(said)
    const lines = linesOf(said)
    return {
      smtp,
      from,
      to,
      subject: cut(`${MARKS[said.severity]} ${said.text}`, MAX_SUBJECT),
      text: cut([said.text, '', ...lines, '', ...links.map(({ name, url }) => `${name}: ${url}`)].join('\n'), MAX_BODY),
      html: htmlOf(said, lines, links),
      messageId: `<${said.id}@${domain}>`,
      references: said.type === 'test' ? null : `<${idOf(said.subject)}@${domain}>`,
    }
  },
}

const MARKS: Readonly<Record<Said['severity'], string>> = {
  critical: '[CRITICAL]',
  warning: '[WARNING]',
  ok: '[OK]',
  info: '[INFO]',
}

/** The local part of a message id: RFC 5322 allows no others. */
function idOf(subject: string): string {
  return subject.replace(/[^A-Za-z0-9._-]/g, '-')
}

function htmlOf({ text }: Said, lines: readonly string[], links: readonly Link[]): string {
  const items = lines.map((line) => `<li>${escape(line)}</li>`).join('')
  const anchors = links.map(({ name, url }) => `<a href="${escape(url)}">${escape(name)}</a>`).join(' · ')
  const list = items === '' ? '' : `<ul>${items}</ul>`
  return `<!doctype html><meta charset="utf-8"><p><b>${escape(text)}</b></p>${list}${anchors === '' ? '' : `<p>${anchors}</p>`}`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
