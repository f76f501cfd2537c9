import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BATCH_ROWS, createBatchQueue } from '../../src/store/batch-queue.ts'
import { POLL_NUMBERS } from '../../src/store/poll-columns.ts'
import type { Batch, WriteEvent } from '../../src/store/write-events.ts'
import { pollOf } from './setting.ts'

const POLL = pollOf(0)
const saved = (endpoint: string, at: number): WriteEvent => ({ kind: 'save-health', endpoint, at, json: '{}' })

const incident = (id: string, json: string): WriteEvent => {
  const rest = { network: 'ethereum', endpoint: null, openedAt: 0, closedAt: null, absorbed: false }
  return { kind: 'save-incident', incident: { id, ...rest, json }, notifications: [] }
}

/** The contents of a batch, in order. */
function contentsOf(batch: Batch): (number | string)[] {
  const contents: (number | string)[] = []
  let next = 0
  for (let row = 0; row <= batch.polls.length / POLL_NUMBERS; row++) {
    for (let event = batch.events[next]; event !== undefined && event.after <= row; event = batch.events[++next]) {
      contents.push(event.event.kind === 'save-health' ? event.event.endpoint : event.event.kind)
    }
    const number = batch.polls[row * POLL_NUMBERS]
    if (number !== undefined) contents.push(number)
  }
  return contents
}

describe('the batch queue', () => {
  test('returns everything in the order of arrival, whatever is pushed while a batch is being written', () => {
    const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 400 }), fc.constantFrom('event', 'take', 'done')), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(steps, (list) => {
        const queue = createBatchQueue({ maxRows: 1_000_000 })
        const pushed: (number | string)[] = []
        const written: (number | string)[] = []
        let taken: Batch | null = null
        let count = 0
        const end = () => {
          if (taken === null) return
          written.push(...contentsOf(taken))
          queue.done()
          taken = null
        }
        for (const step of list) {
          if (step === 'take') taken = queue.take()
          else if (step === 'done') end()
          else if (step === 'event') {
            pushed.push(`event ${++count}`)
            queue.pushEvent(saved(`event ${count}`, 0))
          } else {
            for (let row = 0; row < step; row++) {
              pushed.push(++count)
              queue.pushPoll(count, POLL)
            }
          }
        }
        end()
        for (taken = queue.take(); taken !== null; taken = queue.take()) end()

        expect(written).toEqual(pushed)
        expect(queue.rows).toBe(0)
        expect(queue.doneNumber).toBe(queue.lastNumber)
      }),
    )
  })

  test('makes no batch of more than 500 polls', () => {
    const queue = createBatchQueue({ maxRows: 10_000 })
    for (let row = 0; row < BATCH_ROWS + 1; row++) queue.pushPoll(row, POLL)

    expect(queue.hasFullBatch).toBe(true)
    expect((queue.take()?.polls.length ?? 0) / POLL_NUMBERS).toBe(BATCH_ROWS)
    queue.done()
    expect(queue.hasFullBatch).toBe(false)
  })

  test('that is full drops the oldest polls, but never the batch that is being written or saved health', () => {
    const queue = createBatchQueue({ maxRows: 1500 })
    for (let row = 0; row < BATCH_ROWS; row++) queue.pushPoll(row, POLL)
    const first = queue.take()
    queue.pushEvent(saved('a', 1))
    queue.pushEvent(saved('b', 1))
    for (let row = BATCH_ROWS; row < 5 * BATCH_ROWS; row++) queue.pushPoll(row, POLL)
    queue.pushEvent(saved('a', 2))

    expect(queue.rows).toBeLessThanOrEqual(1500)
    expect(queue.dropped).toBeGreaterThanOrEqual(2 * BATCH_ROWS)
    expect(queue.take()?.polls).toEqual(first?.polls)
    queue.done()
    const rest: (number | string)[] = []
    for (let batch = queue.take(); batch !== null; batch = queue.take()) {
      rest.push(...contentsOf(batch))
      queue.done()
    }
    expect(rest.filter((entry) => typeof entry === 'string')).toEqual(['b', 'a'])
    expect(rest.at(-2)).toBe(5 * BATCH_ROWS - 1)
    expect(rest).not.toContain(BATCH_ROWS)
  })

  test('keeps only the latest health of each endpoint, after its polls, however long the disk is stuck', () => {
    const queue = createBatchQueue({ maxRows: 2000 })
    queue.pushPoll(0, POLL)
    queue.pushEvent(saved('taken', 0))
    const stuck = queue.take()
    for (let number = 1; number <= 20_000; number++) {
      queue.pushPoll(number, POLL)
      queue.pushEvent(saved(`endpoint ${number % 10}`, number))
      if (number % 7000 === 0) queue.pushEvent({ kind: 'register', registrations: [] })
    }

    expect(queue.take()).toBe(stuck)
    expect(contentsOf(stuck ?? { polls: new Float64Array(), events: [] })).toEqual([0, 'taken'])
    queue.done()
    const rest: (number | string)[] = []
    for (let batch = queue.take(); batch !== null; batch = queue.take()) {
      rest.push(...contentsOf(batch))
      queue.done()
    }
    const last = Array.from({ length: 10 }, (_, index) => [19_991 + index, `endpoint ${(19_991 + index) % 10}`])
    expect(rest.slice(-20)).toEqual(last.flat())
    expect(rest.filter((entry) => typeof entry === 'string')).toHaveLength(12)
  })

  test('is bounded when only hash changes arrive', () => {
    const queue = createBatchQueue({ maxRows: 3000 })
    const change = { kind: 'hash-change', index: 0, shard: null, height: 1, hash: 'a', previousHash: 'b' } as const
    for (let at = 0; at < 50_000; at++) queue.pushEvent({ ...change, at })

    let waiting = 0
    for (let batch = queue.take(); batch !== null; batch = queue.take()) {
      waiting += batch.events.length
      queue.done()
    }
    expect(waiting + queue.dropped).toBe(50_000)
    expect(waiting).toBeLessThanOrEqual(6000)
  })

  test('keeps only the latest state of an incident, after the polls before it', () => {
    const queue = createBatchQueue({ maxRows: 10_000 })
    queue.pushEvent(incident('a', 'one'))
    queue.pushEvent(saved('own-1', 1))
    for (let row = 0; row < BATCH_ROWS; row++) queue.pushPoll(row, POLL)
    queue.pushEvent(incident('b', 'two'))
    queue.pushEvent(incident('a', 'three'))

    const first = queue.take()
    queue.done()
    const second = queue.take()

    expect(first?.events.map(({ event }) => event)).toEqual([saved('own-1', 1)])
    expect(second?.events.map(({ event }) => event)).toEqual([incident('b', 'two'), incident('a', 'three')])
  })

  test('never drops the newest version of a silence, however much waits behind it', () => {
    const queue = createBatchQueue({ maxRows: 3000 })
    const silence = { id: 'a', network: 'ethereum', endpoint: null, reason: 'upgrade', from: 0, until: 9 }
    const change = { kind: 'hash-change', index: 0, shard: null, height: 1, hash: 'a', previousHash: 'b' } as const
    queue.pushEvent({ kind: 'save-silence', silence })
    queue.pushEvent({ kind: 'save-silence', silence: { ...silence, until: 1 } })
    for (let at = 0; at < 50_000; at++) queue.pushEvent({ ...change, at })
    for (let count = 0; count < 40; count++) queue.pushEvent(incident(`id-${count}`, 'x'.repeat(1024 * 1024)))

    const silences: WriteEvent[] = []
    for (let batch = queue.take(); batch !== null; batch = queue.take()) {
      silences.push(...batch.events.map(({ event }) => event).filter(({ kind }) => kind === 'save-silence'))
      queue.done()
    }
    expect(silences).toEqual([{ kind: 'save-silence', silence: { ...silence, until: 1 } }])
  })

  test('drops and counts the oldest incidents when a disk is stuck for weeks, but no saved health', () => {
    const queue = createBatchQueue({ maxRows: 10_000 })
    queue.pushEvent(saved('own-1', 1))
    const large = 'x'.repeat(1024 * 1024)

    for (let count = 0; count < 40; count++) queue.pushEvent(incident(`id-${count}`, large))
    for (let count = 0; count < 40; count++) queue.pushEvent(incident('id-39', large))

    const kinds = queue
      .take()
      ?.events.map(({ event }) => (event.kind === 'save-incident' ? event.incident.id : event.kind))
    expect(kinds).toEqual(['save-health', ...Array.from({ length: 32 }, (_, at) => `id-${at + 8}`)])
    expect(queue.dropped).toBe(8)
  })
})
