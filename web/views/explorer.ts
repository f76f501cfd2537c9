import type { NetworkView } from '../../src/http/wire/status.ts'
import { html, type TemplateResult } from './lit.ts'

/** Text about a block, linked to the configured block explorer of its network; the text alone without one. */
export function inExplorer(
  { explorer_url: explorer, family }: Explored,
  hash: string | null | undefined,
  text: string | TemplateResult,
): TemplateResult {
  // A hash comes from a node.
  if (explorer === undefined || typeof hash !== 'string' || !HASH.test(hash)) return html`${text}`
  const path = family === 'multiversx' ? 'blocks' : 'block'
  return html`<a class="explorer" href="${explorer}/${path}/${hash}" rel="noreferrer" title="Block ${hash} in the explorer">${text}</a>`
}

export type Explored = Pick<NetworkView, 'explorer_url' | 'family'>

const HASH = /^(?:0x)?[0-9a-f]{64}$/i
