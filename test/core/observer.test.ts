import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Failure } from '../../src/core/failure.ts'
import { locationOf } from '../../src/core/host-location.ts'
import { createObserver, type ObservedPoll, type Observer } from '../../src/core/observer/observer.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import { bad, endpoint, good, head, liveness, nodeCheck, pollResult } from '../support/network.ts'

const INTERVAL = 10_000
const of = endpoint('a')
const UNANSWERED = { healthy: false, error: 'no complete answer within 5 s' }
const well = { heads: [{ shard: null, outcome: good(head(1000, 0)) }] }
const failed = (failure: Failure) => ({ heads: [{ shard: null, outcome: bad(failure) }] })

function poll(host: string, startedAt: number, endedAt: number, over: Partial<PollResult> = well): ObservedPoll {
  return { location: locationOf(`${host}.example.org`), startedAt, endedAt, result: pollResult(of, startedAt, over) }
}

/** An observer that has recorded answers of `a`, `b` and `c`, up to 3000. */
function scene(): Observer {
  const observer = createObserver()
  observer.configure(
    ['a', 'b', 'c'].map((host) => locationOf(`${host}.example.org`)),
    INTERVAL,
  )
  for (const [at, host] of ['a', 'b', 'c'].entries()) observer.record(poll(host, at * 1000, at * 1000 + 100))
  return observer
}
const ended = (observer: Observer, one: ObservedPoll) => {
  observer.record(one)
  return observer.validity(one)
}

describe('the validity of a poll', () => {
  test('an answer is valid', () => {
    expect(ended(scene(), poll('a', 5000, 5100))).toBe('valid')
  })

  test('a failure is undecided until another host has answered, then valid', () => {
    const observer = scene()
    const one = poll('a', 5000, 5100, failed({ kind: 'refused' }))
    expect(ended(observer, one)).toBe('undecided')

    observer.record(poll('b', 5200, 5300))
    expect(observer.validity(one)).toBe('valid')
  })

  test.each<[string, Failure]>([
    ['an HTTP error', { kind: 'http', status: 500 }],
    ['a rate limit', { kind: 'rate-limited', retryAfterMs: null }],
    ['garbage', { kind: 'not-json' }],
    ['half an answer', { kind: 'truncated' }],
    ['another chain', { kind: 'wrong-network', expected: 1, actual: '5' }],
  ])('%s came over the network: valid at once', (_title, failure) => {
    expect(ended(scene(), poll('a', 5000, 5100, failed(failure)))).toBe('valid')
  })

  test('one answered check of two came over the network', () => {
    const over = { ...failed({ kind: 'timeout', afterMs: 5000 }), liveness: good(liveness(0)) }
    expect(ended(scene(), poll('a', 5000, 10_000, over))).toBe('valid')
  })

  test('a lack of our own resources is our fault, with the reason', () => {
    const observer = scene()
    const one = poll('a', 5000, 5001, failed({ kind: 'local-resources', code: 'EMFILE' }))

    expect(ended(observer, one)).toBe('own-fault')
    expect(observer.reasons(5001)).toEqual(['this machine is out of resources (EMFILE)'])
    expect(observer.reasons(5001 + INTERVAL + 1)).toEqual([])
  })

  test('while the process stood still a failure is our fault, and an answer counts without its duration', () => {
    const observer = scene()
    observer.stalled(6000, 11_000)

    expect(ended(observer, poll('a', 5000, 11_000, failed({ kind: 'timeout', afterMs: 5000 })))).toBe('own-fault')
    expect(ended(observer, poll('b', 5000, 11_000))).toBe('untimed')
    expect(ended(observer, poll('c', 11_001, 11_100))).toBe('valid')
    expect(observer.reasons(11_100)).toEqual(['this process stood still for 5 s'])
  })

  test.each([
    ['without a response to a question about its state', nodeCheck('health', UNANSWERED), 'own-fault'],
    ['with bad news', nodeCheck('health', { ...UNANSWERED, checkedAt: 10_500 }), 'untimed'],
    ['with all answers', nodeCheck('health'), 'untimed'],
  ])('while the process stood still, an answer %s: %#', (_title, check, expected) => {
    const observer = scene()
    observer.stalled(6000, 11_000)
    const report = { sync: null, peers: null, client: null, consensus: null }

    const asked = { ...well, liveness: good(liveness(null, { checks: [check], report })) }
    expect(ended(observer, poll('a', 5000, 11_000, asked))).toBe(expected)
    expect(ended(observer, poll('a', 11_001, 11_100, asked))).toBe('valid')
    // Such checks are the node's own.
    const told = { ...well, liveness: good(liveness(0, { checks: [check] })) }
    expect(ended(observer, poll('b', 5000, 11_000, told))).toBe('untimed')
  })

  test('a stall of less than half a second changes nothing', () => {
    const observer = scene()
    observer.stalled(6000, 6499)

    expect(ended(observer, poll('a', 5000, 7000))).toBe('valid')
    expect(observer.reasons(7000)).toEqual([])
  })

  test.each([
    ['waits for a CPU half of the time', 1, 500, 'own-fault', 'untimed'],
    ['waits for less than half of the time', 1, 499, 'valid', 'valid'],
    ['waits for half of the time, but not for half a second', 0.4, 500, 'valid', 'valid'],
  ])('while the process %s, in many short waits: %#', (_title, seconds, waitMsPerSecond, failure, answer) => {
    const observer = scene()
    for (let at = 0; at <= 20_000; at += 250) observer.cpuWaited(at, (at / 1000) * waitMsPerSecond)
    observer.record(poll('b', 15_000, 15_100))

    const to = 10_130 + 1000 * seconds
    expect(ended(observer, poll('a', 10_130, to, failed({ kind: 'timeout', afterMs: 1000 * seconds })))).toBe(failure)
    expect(ended(observer, poll('a', 10_130, to))).toBe(answer)
    expect(observer.reasons(to)).toEqual(answer === 'valid' ? [] : ['this process waits for the CPU most of the time'])
    expect(ended(observer, poll('a', 10_130, 10_140, failed({ kind: 'refused' })))).toBe('valid')
  })

  test('a wait for a CPU before or after a poll says nothing about it', () => {
    const observer = scene()
    for (let at = 0; at <= 20_000; at += 250) observer.cpuWaited(at, Math.min(at, 10_000) + Math.max(0, at - 12_000))

    expect(ended(observer, poll('a', 8000, 9900))).toBe('untimed')
    expect(ended(observer, poll('a', 10_000, 12_000))).toBe('valid')
    expect(ended(observer, poll('a', 12_300, 14_000))).toBe('untimed')
  })

  test('a poll across a step of the wall clock is our fault; before and after it is valid', () => {
    const observer = scene()
    observer.clockStepped(6000, -3_600_000)

    expect(ended(observer, poll('a', 5900, 6100))).toBe('own-fault')
    expect(ended(observer, poll('a', 6101, 6200))).toBe('valid')
    expect(observer.reasons(6200)).toEqual(["this machine's clock was set back by 60 min"])
  })

  test('when all hosts fail it is our fault, until one answers', () => {
    const observer = scene()
    const all = ['a', 'b', 'c'].map((host, at) =>
      poll(host, 5000 + at, 5100 + at, failed({ kind: 'unroutable', code: 'ENETUNREACH' })),
    )
    for (const one of all) observer.record(one)

    expect(all.map((one) => observer.validity(one))).toEqual(['own-fault', 'own-fault', 'own-fault'])
    expect(observer.reasons(5200).join()).toContain('network seems to be gone')
    observer.record(poll('a', 6000, 6100))
    expect(observer.reasons(6100)).toEqual([])
  })
})

test('the number of kept disturbances is limited, and every reason appears once', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 500, max: 5000 }), { minLength: 1, maxLength: 300 }), (holds) => {
      const observer = scene()
      let now = 10_000
      for (const ms of holds) {
        observer.stalled(now, now + ms)
        now += ms + 1
      }
      const reasons = observer.reasons(now)

      expect(reasons.length).toBeLessThanOrEqual(32)
      expect(new Set(reasons).size).toBe(reasons.length)
      expect(observer.reasons(now + INTERVAL + 1)).toEqual([])
    }),
  )
})
