// The browser gets lit-html's own file under this name; see src/http/page-routes.ts.
export { html, nothing, render, svg, type TemplateResult } from 'lit-html'
