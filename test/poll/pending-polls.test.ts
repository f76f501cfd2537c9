import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPendingPolls } from '../../src/poll/pending-polls.ts'

interface Item {
  readonly key: string
  readonly number: number
}

/** Items are open until `known` says what they are. */
function house() {
  const known = new Map<number, 'fair' | 'ours'>()
  const decided: [key: string, number: number, as: string][] = []
  const waited: number[] = []
  /** What was put off to later turns of the event loop. */
  const later: (() => void)[] = []
  const docket = createPendingPolls<Item, 'fair' | 'ours'>({
    clock: { after: (_ms, task) => ({ cancel() {}, at: later.push(task) }) },
    decide: ({ number }) => known.get(number) ?? 'undecided',
    onDecided: ({ key, number }, as) => void decided.push([key, number, as]),
    onWaiting: (_key, { number }) => void waited.push(number),
  })
  return { docket, known, decided, waited, later }
}

describe('a poll', () => {
  test('that can be decided is decided at once, without a witness', () => {
    const { docket, known, decided, waited } = house()
    known.set(1, 'fair')

    docket.add('a', { key: 'a', number: 1 })

    expect(decided).toEqual([['a', 1, 'fair']])
    expect(waited).toEqual([])
    expect(docket.size).toBe(0)
  })

  test('that cannot be decided waits until more is known', () => {
    const { docket, known, decided, waited } = house()
    docket.add('a', { key: 'a', number: 1 })
    docket.review()
    expect([docket.size, decided, waited]).toEqual([1, [], [1]])

    known.set(1, 'ours')
    docket.review()

    expect([docket.size, decided]).toEqual([0, [['a', 1, 'ours']]])
  })

  test('waits for earlier polls of its key, and not for those of other keys', () => {
    const { docket, known, decided } = house()
    known.set(2, 'fair').set(3, 'fair')
    docket.add('a', { key: 'a', number: 1 })
    docket.add('a', { key: 'a', number: 2 })
    docket.add('b', { key: 'b', number: 3 })
    expect(decided).toEqual([['b', 3, 'fair']])

    known.set(1, 'fair')
    docket.review()

    expect(decided.map(([, number]) => number)).toEqual([3, 1, 2])
  })

  test('of a removed key is dropped', () => {
    const { docket, known, decided } = house()
    docket.add('a', { key: 'a', number: 1 })
    docket.add('b', { key: 'b', number: 2 })
    docket.retain(new Set(['b']))
    known.set(1, 'fair').set(2, 'fair')

    docket.review()

    expect(decided).toEqual([['b', 2, 'fair']])
    expect(docket.size).toBe(0)
  })
})

test('a thousand that one answer decides are decided in many turns of the event loop, in the order of arrival', () => {
  const { docket, known, decided, later } = house()
  const numbers = Array.from({ length: 1000 }, (_, number) => number)
  for (const number of numbers) docket.add(`key-${number}`, { key: `key-${number}`, number })
  for (const number of numbers) known.set(number, 'fair')

  let most = 0
  for (let turns = 0; docket.size > 0 && turns < 1000; turns++) {
    const before = decided.length
    if (turns === 0) docket.review()
    else later.shift()?.()
    most = Math.max(most, decided.length - before)
    // Further answers do not make a turn longer.
    docket.review()
  }

  expect(decided.map(([, number]) => number)).toEqual(numbers)
  expect(most).toBe(16)
})

test('each is decided once, and those of one key in order, whatever becomes known when', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ kind: fc.constant('learn' as const), number: fc.nat(60) }),
      fc.record({ kind: fc.constant('review' as const) }),
    ),
    { maxLength: 80, size: 'max' },
  )
  fc.assert(
    fc.property(steps, (script) => {
      const { docket, known, decided } = house()
      const added: Item[] = []
      for (const step of script) {
        if (step.kind === 'review') docket.review()
        else if (step.kind === 'learn') known.set(step.number, step.number % 2 === 0 ? 'fair' : 'ours')
        else {
          const item = { key: step.key, number: added.length }
          added.push(item)
          docket.add(step.key, item)
        }
      }
      for (const { number } of added) known.set(number, 'fair')
      docket.review()

      expect(docket.size).toBe(0)
      for (const key of ['a', 'b', 'c']) {
        const of = (numbers: readonly { key: string; number: number }[]) =>
          numbers.filter((item) => item.key === key).map(({ number }) => number)
        expect(of(decided.map(([of, number]) => ({ key: of, number })))).toEqual(of(added))
      }
    }),
    { numRuns: 300, seed: 20_261_121 },
  )
})
