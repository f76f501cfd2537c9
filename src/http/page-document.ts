import type { Access } from '../../web/views/view.ts'
import type { Assets } from './page-assets.ts'
import { escaped } from './template-text.ts'

export interface PageDocument {
  readonly title: string
  readonly access: Access
  /** The view that is drawn, which is the first that the browser will need; `null` where there is none. */
  readonly view: { readonly name: string; readonly hasStyle: boolean } | null
  /** HTML. */
  readonly body: string
  readonly assets: Assets
}

/** The whole document around a view: readable as it is, and from the first script on the browser's own. */
export function pageDocument({ title, access, view, body, assets }: PageDocument): string {
  const script = view === null ? [] : [`views/${view.name}.js`]
  const styles = ['style.css', ...(view?.hasStyle ? [`views/${view.name}.css`] : [])]
  const preloads = assets.closure('app.js', ...script)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Whether the blockchain nodes watched here are well, and why not.">
<title>${escaped(title)}</title>
<script src="${assets.href('boot.js')}"></script>
${styles.map((path) => `<link rel="stylesheet" href="${assets.href(path)}">`).join('\n')}
<link rel="icon" href="${assets.href('icon.svg')}" type="image/svg+xml">
<link rel="alternate" href="/feed.xml" type="application/atom+xml" title="Incidents">
${preloads.map((path) => `<link rel="modulepreload" href="${assets.href(path)}">`).join('\n')}
<script type="module" src="${assets.href('app.js')}"></script>
</head>
<body>
<div id="page" data-access="${access}">${body}</div>
</body>
</html>
`
}
