import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { templateText } from '../../src/http/template-text.ts'
import { padded, type SmallCharts, smallCharts } from '../../web/views/charts/small-charts.ts'

const START = Date.parse('2026-01-01T10:00:00.000Z')

function aCourse(values: readonly (number | null)[], over: Partial<SmallCharts> = {}): SmallCharts {
  return {
    id: 'lag',
    title: 'A lag',
    startMs: START,
    stepMs: 60_000,
    cells: values.length,
    zone: 'utc',
    panels: [{ name: 'Lag', kind: 'bars', floor: 'zero', values, write: (value) => `${value} blocks` }],
    ...over,
  }
}

function draw(of: SmallCharts): HTMLElement {
  const { document } = new Window()
  document.body.innerHTML = templateText(smallCharts(of))
  return document.body as unknown as HTMLElement
}

const rows = (page: HTMLElement) =>
  [...page.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent?.trim()))
const shape = (page: HTMLElement, name: string) => page.querySelector(`path.${name}`)?.getAttribute('d')

describe('small charts', () => {
  test('are one tab stop, with a table of every step, unknown ones included', () => {
    const page = draw(aCourse([0, null, 3], { states: 'u-d' }))

    expect(page.querySelectorAll('[role=slider][tabindex="0"]')).toHaveLength(1)
    expect(page.querySelector('[role=slider]')?.getAttribute('aria-valuemax')).toBe('3')
    expect(rows(page)).toEqual([
      ['10:00', 'up', '0 blocks'],
      ['10:01', 'unknown', '–'],
      ['10:02', 'down', '3 blocks'],
    ])
  })

  test('leave unknown time hatched', () => {
    const page = draw(aCourse([1, null, 1]))

    expect(shape(page, 'ground')).toBe('M0 40v-40h1v40zM2 40v-40h1v40z')
  })

  test('mark values above the limit, and draw the limit once values come near it', () => {
    const near = aCourse([2, 5])
    const [panel] = near.panels
    const of = (limit: number) => draw({ ...near, panels: panel === undefined ? [] : [{ ...panel, limit }] })

    expect(shape(of(5), 'over')).toMatch(/^M1 /)
    expect(of(5).querySelector('path.limit')).not.toBeNull()
    expect(of(500).querySelector('path.limit')).toBeNull()
    expect(of(500).querySelector('path.over')).toBeNull()
  })

  test('break their line at unknown values', () => {
    const page = draw(
      aCourse([], {
        cells: 3,
        panels: [{ name: 'Height', kind: 'line', floor: 'lowest', values: [10, null, 20], write: String }],
      }),
    )

    expect(shape(page, 'trace')).toBe('M0 40h1M2 3h1')
    expect(page.querySelector('.most')?.textContent).toBe('10 to 20')
  })

  test('mark the time of the incident, cut to the chart', () => {
    const marked = { fromMs: START - 60_000, toMs: START + 90_000, state: 'down' as const }

    const band = draw(aCourse([1, 2, 3], { marked })).querySelector('rect.band.down')

    expect([band?.getAttribute('x'), band?.getAttribute('width')]).toEqual(['0', '1.5'])
  })

  test('that would only show zeros are one line', () => {
    const page = draw(aCourse([0, null, 0]))

    expect(page.querySelector('.plot svg')).toBeNull()
    expect(page.querySelector('.lane')?.textContent).toBe('Lag 0 blocks all the time')
  })

  test('say so if there is no data at all', () => {
    expect(draw(aCourse([null, null])).querySelector('.most')?.textContent).toBe('no data')
  })

  test('are padded with unknown time if they are short', () => {
    const of = padded(aCourse([7]))

    const unknown = Array.from({ length: 59 }, () => null)
    expect([of.startMs, of.cells, of.panels[0]?.values]).toEqual([START - 59 * 60_000, 60, [...unknown, 7]])
    expect(padded(of)).toEqual(of)
  })
})
