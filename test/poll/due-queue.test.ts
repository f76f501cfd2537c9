import { expect, test } from 'vitest'
import { createDueQueue, type Taken } from '../../src/poll/due-queue.ts'

/** A queue in which items of two groups wait, and what the next pass offers. */
function waitingQueue(count: number) {
  const queue = createDueQueue<number>()
  for (let item = 0; item < count; item++) queue.wait(item, item % 2 === 0 ? 'even' : 'odd')
  const pass = (start: (item: number) => Taken): number[] => {
    const offered: number[] = []
    queue.retryWaiting((item) => {
      offered.push(item)
      return start(item)
    })
    return offered
  }
  return { pass }
}

test('a group without room costs one look, however many of its items wait', () => {
  const { pass } = waitingQueue(10_000)

  expect(pass(() => 'group-full')).toEqual([0, 1])
  expect(pass(() => 'all-full')).toEqual([0])
})

test('items of a group start in the order of arrival, past those that are busy', () => {
  const { pass } = waitingQueue(8)
  const startOne = (busy: readonly number[]) => {
    let room = 1
    return pass((item) =>
      item % 2 === 1 ? 'group-full' : busy.includes(item) ? 'busy' : room-- > 0 ? 'done' : 'group-full',
    )
  }

  expect(startOne([0])).toEqual([0, 2, 4, 1])
  expect(startOne([])).toEqual([1, 0, 4])
  expect(startOne([])).toEqual([1, 4, 6])
})

test('when every limit is reached, groups that started something wait behind the others', () => {
  const { pass } = waitingQueue(6)
  const startOne = () => {
    let room = 1
    return pass(() => (room-- > 0 ? 'done' : 'all-full')).at(0)
  }

  expect([startOne(), startOne(), startOne(), startOne(), startOne(), startOne()]).toEqual([0, 1, 2, 3, 4, 5])
})
