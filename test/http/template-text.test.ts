import fc from 'fast-check'
import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { templateText } from '../../src/http/template-text.ts'
import { guard, html, nothing, repeat, svg } from '../../web/views/lit.ts'

/** Parsed by an HTML parser, as a browser would. */
function read(text: string): HTMLElement {
  const { document } = new Window()
  document.body.innerHTML = text
  return document.body as unknown as HTMLElement
}

/** What could end a text, an attribute or a tag, and any other text. */
const hostile = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(fc.constantFrom('<', '>', '"', "'", '&', '/', '=', ' ', 'script', '-->', '&lt;', '${', 'x'))
    .map((all) => all.join('')),
)

describe('whatever a value holds', () => {
  test('as text it stays that text, and makes no element', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const body = read(templateText(html`<p>${value}</p>`))

        expect(body.children.length).toBe(1)
        expect(body.children[0]?.children.length).toBe(0)
        expect(body.textContent).toBe(value)
      }),
    )
  })

  test('as an attribute it stays that attribute, and makes no other', () => {
    fc.assert(
      fc.property(hostile, hostile, (one, other) => {
        const body = read(templateText(html`<p title=${one} class="a ${other} b" lang='${one}'>t</p>`))
        const element = body.children[0]

        expect(body.children.length).toBe(1)
        expect(element?.getAttributeNames()).toEqual(['title', 'class', 'lang'])
        expect(element?.getAttribute('title')).toBe(one)
        expect(element?.getAttribute('class')).toBe(`a ${other} b`)
        expect(element?.getAttribute('lang')).toBe(one)
        expect(element?.textContent).toBe('t')
      }),
    )
  })

  test('nested templates keep it, however deep', () => {
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 5 }), (values) => {
        const nested = values.reduce<unknown>((inner, value) => html`<b title=${value}>${value}${inner}</b>`, '')

        const body = read(templateText(html`<main>${nested}</main>`))

        expect([...body.querySelectorAll('b')].map((one) => one.getAttribute('title'))).toEqual(values.toReversed())
        expect(body.textContent).toBe(values.toReversed().join(''))
      }),
    )
  })
})

test.each([
  ['nothing, null and undefined are no text', html`<p>${nothing}${null}${undefined}</p>`, '<p></p>'],
  ['nought and false are', html`<p>${0} ${false}</p>`, '<p>0 false</p>'],
  [
    'an attribute that is nothing is left out',
    html`<p id="a" title=${nothing} lang="x">t</p>`,
    '<p id="a" lang="x">t</p>',
  ],
  ['also where nothing is a part of it', html`<p title="a ${'b'} ${nothing}">t</p>`, '<p>t</p>'],
  ['one that is null is empty', html`<p title=${null}></p>`, '<p title=""></p>'],
  ['a flag is there or not', html`<p ?hidden=${true} ?inert=${false} ?open=${nothing}></p>`, '<p hidden=""></p>'],
  ['listeners and properties are left out', html`<p @click=${() => {}} .value=${'x'} id="a"></p>`, '<p id="a"></p>'],
  [
    'lists are written one after the other',
    html`<ul>${[1, 2].map((one) => html`<li>${one}</li>`)}</ul>`,
    '<ul><li>1</li><li>2</li></ul>',
  ],
  ['what is guarded is written', html`<p>${guard([1], () => html`<b>x</b>`)}</p>`, '<p><b>x</b></p>'],
  [
    'what is repeated by key too',
    html`<p>${repeat(
      [1, 2],
      (one) => one,
      (one) => html`<b>${one}</b>`,
    )}</p>`,
    '<p><b>1</b><b>2</b></p>',
  ],
  ['so is SVG', html`<svg>${svg`<path d=${'M0 0'} />`}</svg>`, '<svg><path d="M0 0" /></svg>'],
  ['a value may be the last thing of a tag', html`<a href=${'/x'}>y</a>`, '<a href="/x">y</a>'],
  [
    'a bigger-than inside an attribute ends no tag',
    html`<a title="a > b" href=${'/x'}>${'y'}</a>`,
    '<a title="a > b" href="/x">y</a>',
  ],
  [
    'a text area may be there, empty',
    html`<textarea id="a"></textarea><p>${'<'}</p>`,
    '<textarea id="a"></textarea><p>&lt;</p>',
  ],
])('%s', (_claim, template, text) => {
  expect(templateText(template)).toBe(text)
})

test.each([
  ['in a comment', html`<!-- ${'x'} -->`],
  ['in a script', html`<script>${'x'}</script>`],
  ['in a style', html`<style>${'x'}</style>`],
  ['in a text area', html`<textarea>${'x'}</textarea>`],
  ['after text in a text area', html`<textarea>a</textarea>${'x'}`],
  ['as the name of an attribute', html`<p ${'x'}></p>`],
  ['that is an object', html`<p title=${{}}></p>`],
  ['that is a function', html`<p>${() => {}}</p>`],
])('a value %s is rejected: it could not be made safe', (_where, template) => {
  expect(() => templateText(template)).toThrow(TypeError)
})
