// The one place that names the package: the daemon writes what these make as text, see src/http/template-text.ts.
export { html, nothing, render, svg, type TemplateResult } from 'lit-html'
export { guard } from 'lit-html/directives/guard.js'
export { repeat } from 'lit-html/directives/repeat.js'
