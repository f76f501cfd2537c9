import { embed } from '../../../web/views/network/embed.ts'
import type { BoardNetwork } from '../../state/board.ts'
import type { DaySource } from '../history/days.ts'
import { type CompressibleText, compressible, sendCompressed } from '../negotiation.ts'
import { sendUnknown } from '../problem.ts'
import { type App, NetworkPath, operation, type RouteDeps, text } from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { networkView } from '../status-views.ts'
import { escaped, templateText } from '../template-text.ts'
import type { Assets } from './page-assets.ts'

export interface EmbedDeps extends Pick<RouteDeps, 'clock'> {
  readonly scopes: Scopes
  readonly days: DaySource
}

/** `GET /embed/:network`: the only page that others may put into a frame. It shows what the public sees, to everybody. */
export function registerEmbed(app: App, { scopes, clock, days }: EmbedDeps, assets: Assets): void {
  const { board, incidents } = scopes.public
  const drawn = new Map<string, { readonly at: number; readonly body: CompressibleText }>()

  function bodyOf(network: BoardNetwork): CompressibleText {
    const { name } = network.standing.network
    const kept = drawn.get(name)
    if (kept !== undefined && clock.monotonic() - kept.at < HOLDS_MS) return kept.body
    const view = networkView(network, incidents, clock.now(), 'public')
    const html = templateText(embed(view, days.latest('public'), clock.now()))
    const body = compressible(documentOf(view.title, html, assets))
    drawn.set(name, { at: clock.monotonic(), body })
    return body
  }

  app.get('/embed/:network', EMBED_ROUTE, async (request, reply) => {
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    reply.removeHeader('x-frame-options').headers(HEADERS)
    return sendCompressed(request, reply.type('text/html; charset=utf-8'), bodyOf(network))
  })
}

const EMBED_ROUTE = operation({
  visibility: 'public',
  summary: 'A network, to put into a frame of another page',
  params: NetworkPath,
  answers: { 200: text('What the public sees of it', 'text/html') },
})

/** Drawn and compressed at most once in this time, for all requests. */
const HOLDS_MS = 5000

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *",
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=30',
  // Without a script, an open frame would show an old state as if it were the present one.
  refresh: '60',
}

function documentOf(title: string, body: string, assets: Assets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${assets.href('style.css')}">
<link rel="stylesheet" href="${assets.href('embed.css')}">
</head>
<body>
${body}
</body>
</html>
`
}
