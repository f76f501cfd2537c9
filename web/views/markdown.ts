import { html, type TemplateResult } from './lit.ts'

/** The Markdown of the runbooks: headings, paragraphs, lists and code blocks; inline code and links. */
export function markdown(text: string): TemplateResult {
  return html`${blocksOf(text).map((block) => drawn(block))}`
}

type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'code' | 'paragraph'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  const take = (isIn: (line: string) => boolean) => {
    const taken: string[] = []
    while (lines[0] !== undefined && isIn(lines[0])) taken.push(lines.shift() ?? '')
    return taken
  }
  while (lines.length > 0) {
    const [line = ''] = lines
    if (line.trim() === '') lines.shift()
    else if (line.startsWith('```')) {
      lines.shift()
      blocks.push({ kind: 'code', text: take((one) => !one.startsWith('```')).join('\n') })
      lines.shift()
    } else if (/^#+ /.test(line)) {
      lines.shift()
      blocks.push({ kind: 'heading', level: line.indexOf(' '), text: line.replace(/^#+ /, '') })
    } else if (line.startsWith('- ')) {
      const items = take((one) => /^(- |\s+\S)/.test(one)).join('\n')
      blocks.push({ kind: 'list', items: items.split(/^- /m).slice(1) })
    } else {
      const text = take((one) => one.trim() !== '' && !/^(```|- |#+ )/.test(one)).join('\n')
      blocks.push({ kind: 'paragraph', text })
    }
  }
  return blocks
}

function drawn(block: Block): TemplateResult {
  switch (block.kind) {
    case 'heading':
      return block.level === 1
        ? html`<h1 tabindex="-1">${inline(block.text)}</h1>`
        : html`<h2>${inline(block.text)}</h2>`
    case 'paragraph':
      return html`<p>${inline(block.text)}</p>`
    case 'code':
      return html`<pre tabindex="0"><code>${block.text}</code></pre>`
    case 'list':
      return html`<ul>${block.items.map((item) => html`<li>${inline(item)}</li>`)}</ul>`
  }
}

const INLINE = /`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)/

function inline(text: string): readonly (string | TemplateResult)[] {
  const found = INLINE.exec(text)
  if (found === null) return [text]
  const [whole, code, label = '', target = ''] = found
  const piece = code === undefined ? link(label, target) : html`<code>${code}</code>`
  return [text.slice(0, found.index), piece, ...inline(text.slice(found.index + whole.length))]
}

/** Other runbooks are pages; other documents are not shipped with the page, so their names remain. */
function link(label: string, target: string): TemplateResult {
  const runbook = /^(\w+)\.md$/.exec(target)?.[1]
  if (runbook !== undefined) return html`<a href="/runbooks/${runbook}">${inline(label)}</a>`
  return /^https?:/.test(target)
    ? html`<a href=${target} rel="noreferrer">${inline(label)}</a>`
    : html`${inline(label)}`
}
