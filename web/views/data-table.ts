import { html, nothing, type TemplateResult } from './lit.ts'

/** A table that scrolls by itself. On a phone a row is a list of its cells, each after the label of its column. */
export function dataTable<Row>(
  label: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  lookOf: (row: Row) => string | typeof nothing = () => nothing,
): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${label}>
      <table class="data">
        <thead>
          <tr>
            ${columns.map(([name, , as = nothing]) => html`<th scope="col" class=${as === 'head' ? nothing : as}>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map((row, at) => html`<tr class=${lookOf(row)}>${columns.map((column) => cell(column, row, at))}</tr>`)}
        </tbody>
      </table>
    </div>
  `
}

/** The `head` names the row, `n` are numbers. */
type Column<Row> = readonly [label: string, show: (row: Row, at: number) => unknown, as?: 'head' | 'n' | 'share']

function cell<Row>([label, show, as]: Column<Row>, row: Row, at: number): TemplateResult {
  if (as === 'head') return html`<th scope="row">${show(row, at)}</th>`
  return html`<td class=${as ?? nothing} data-label=${label}>${show(row, at)}</td>`
}
