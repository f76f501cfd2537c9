// The only file that imports lit. The daemon renders these templates with src/http/template-text.ts.
export { html, nothing, render, svg, type TemplateResult } from 'lit-html'
export { guard } from 'lit-html/directives/guard.js'
export { repeat } from 'lit-html/directives/repeat.js'
