import fc from 'fast-check'
import { Window } from 'happy-dom'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { render } from '../../web/render.ts'
import * as own from '../../web/views/lit.ts'

const window = new Window()
let lit: typeof own & { readonly render: typeof render }

// lit-html, which the page used before, is the reference. It looks for the document when it is loaded.
beforeAll(async () => {
  // Its build for development says so.
  Object.assign(globalThis, { litIssuedWarnings: new Set(['dev-mode']) })
  for (const name of ['document', 'Comment', 'Element', 'NodeFilter'] as const) vi.stubGlobal(name, window[name])
  const [base, { guard }, { repeat }] = await Promise.all([
    import('lit-html'),
    import('lit-html/directives/guard.js'),
    import('lit-html/directives/repeat.js'),
  ])
  lit = { ...base, guard, repeat } as unknown as typeof lit
})
afterAll(() => vi.unstubAllGlobals())

interface Shape {
  readonly key: number
  readonly text: string | number | boolean | null | undefined
  readonly look: 'row' | 'bold' | 'bare' | 'picture' | 'none' | 'list'
  readonly isNothing: boolean
  readonly isChecked: boolean
  readonly list: 'plain' | 'keyed' | 'guarded'
  readonly inner: readonly Shape[]
}

const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.record({
    key: fc.nat(9),
    text: fc.oneof(fc.string(), fc.constantFrom(0, 7, true, false, null, undefined, '', '<b>&amp;"', '\uf8ff')),
    look: fc.constantFrom('row', 'bold', 'bare', 'picture', 'none', 'list'),
    isNothing: fc.boolean(),
    isChecked: fc.boolean(),
    list: fc.constantFrom('plain', 'keyed', 'guarded'),
    inner: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constant([]),
      fc.uniqueArray(tie('shape'), { selector: ({ key }) => key, maxLength: 7 }),
    ),
  }),
}))

/** Every kind of value that a view has, in every place. */
function draw(by: typeof own, { text, look, isNothing, isChecked, list, inner }: Shape): unknown {
  const { html, svg, nothing, guard, repeat } = by
  const each = (one: Shape) => draw(by, one)
  const drawn = {
    plain: () => inner.map(each),
    keyed: () =>
      repeat(
        inner,
        ({ key }) => key,
        (one) => html`<li data-key=${one.key}>${each(one)}</li>`,
      ),
    guarded: () => guard([text, JSON.stringify(inner)], () => html`${inner.map(each)}`),
  }
  switch (look) {
    case 'row':
      return html`<section class="a ${text} b ${isChecked}" title=${isNothing ? nothing : text}>${text}${drawn[list]()} after</section>`
    case 'bold':
      return html`<b class="x" ?hidden=${isChecked} lang='${text}'>${text}</b>${drawn[list]()}`
    case 'bare':
      return html`${text}${drawn[list]()}`
    case 'picture':
      return html`<svg viewBox="0 0 ${inner.length} 4">${inner.map(({ key }) => svg`<path d=${key} /><g>${key}</g>`)}</svg>`
    case 'list':
      return drawn[list]()
    case 'none':
      return isNothing ? nothing : text
  }
}

test('every drawing over every earlier one has the same elements as one by lit-html, drawn over the same', () => {
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 6 }), (shapes) => {
      const [mine, theirs] = [document.createElement('main'), document.createElement('main')]
      for (const one of shapes) {
        render(draw(own, one), mine)
        lit.render(draw(lit, one), theirs)

        expect(shown(mine)).toBe(shown(theirs))
      }
    }),
    { numRuns: 150 },
  )
})

test('an element of a list stays the same element, wherever it moves', () => {
  const orders = fc.array(fc.uniqueArray(fc.nat(9)), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(orders, (lists) => {
      const main = document.createElement('main')
      let known = new Map<string, Element>()
      for (const keys of lists) {
        const row = (key: number) => own.html`<p>${key}</p>`
        render(own.html`<i></i>${own.repeat(keys, (key) => key, row)}<i></i>`, main)

        const rows = [...main.querySelectorAll('p')]
        expect(rows.map(({ textContent }) => textContent)).toEqual(keys.map(String))
        for (const row of rows) expect(known.get(row.textContent) ?? row).toBe(row)
        known = new Map(rows.map((row) => [row.textContent, row]))
      }
    }),
  )
})

test('a row that goes up or down moves alone', () => {
  const main = document.createElement('main')
  const draw = (keys: string) => {
    render(
      own.repeat(
        keys.split(''),
        (key) => key,
        (key) => own.html`<p>${key}</p>`,
      ),
      main,
    )
    return [...main.querySelectorAll('p')]
  }
  const moves = vi.spyOn(window.Node.prototype, 'insertBefore')
  const moved = (keys: string) => {
    moves.mockClear()
    draw(keys)
    return moves.mock.calls.flatMap(([node]) =>
      (node as unknown as Element).localName === 'p' ? [(node as unknown as Element).textContent] : [],
    )
  }
  draw('abcdef')

  expect(moved('eabcdf')).toEqual(['e'])
  expect(moved('abcdef')).toEqual(['e'])
  expect(moved('abcdfe')).toEqual(['e'])
  expect(moved('bcdfae')).toEqual(['a'])
  moves.mockRestore()
})

test('a guarded part is drawn again only after one of its values has changed', () => {
  const main = document.createElement('main')
  let drawings = 0
  const draw = (...on: readonly unknown[]) =>
    render(own.html`${own.guard(on, () => own.html`<p>${++drawings}</p>`)}`, main)

  for (const on of [
    [1, 'a'],
    [1, 'a'],
    [2, 'a'],
    [2, 'a', null],
    [2, 'a', null],
  ])
    draw(...on)

  expect(drawings).toBe(3)
  render(own.html`<p></p>`, main)
  draw(2, 'a', null)
  expect(main.textContent).toBe('4')
})

test('a template with a value where none can be is refused', () => {
  const main = document.createElement('main')

  expect(() => render(own.html`<p title="a > b" class="${'x'}"></p>`, main)).toThrow(TypeError)
})

/** Without the comments that mark the places of values. */
function shown(element: Element): string {
  return element.innerHTML.replace(/<!--.*?-->/g, '')
}
