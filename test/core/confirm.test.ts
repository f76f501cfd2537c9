import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ConditionCode, type Finding, severity, VERDICTS, type Verdict } from '../../src/core/verdict/condition.ts'
import {
  type ConfirmationState,
  type ConfirmationThresholds,
  conditionsOf,
  confirm,
  unconfirmed,
} from '../../src/core/verdict/confirm.ts'

const TWICE: ConfirmationThresholds = { failAfter: 2, recoverAfter: 2 }

function finding(code: ConditionCode, verdict: Verdict): Finding {
  return { code, verdict, message: code }
}
const DOWN = finding('unreachable', 'down')
const BAD = finding('bad-answer', 'down')
const SLOW = finding('slow', 'degraded')
const LAGGING = finding('lagging', 'degraded')
const SKEWED = finding('clock-skewed', 'up')

/** One poll a second, from 1000 on. */
function after(polls: readonly (readonly Finding[])[], patience = TWICE): ConfirmationState {
  return polls.reduce<ConfirmationState>(
    (streaks, found, at) => confirm(streaks, found, (at + 1) * 1000, patience),
    unconfirmed(0),
  )
}
const codes = (streaks: ConfirmationState) => conditionsOf(streaks).map((condition) => condition.code)

describe('confirming', () => {
  test('an endpoint is unknown until polled, and up at its first good poll', () => {
    expect(after([]).verdict).toBeNull()
    expect(after([[]])).toMatchObject({ verdict: 'up', since: 1000 })
  })

  test('one bad poll changes nothing', () => {
    const streaks = after([[], [DOWN]])

    expect(streaks).toMatchObject({ verdict: 'up', since: 1000 })
    expect(codes(streaks)).toEqual([])
  })

  test('the second bad poll in a row confirms, dated back to the first', () => {
    const streaks = after([[], [DOWN], [DOWN]])

    expect(streaks).toMatchObject({ verdict: 'down', since: 2000 })
    expect(conditionsOf(streaks)).toEqual([{ ...DOWN, since: 2000 }])
  })

  test('a good poll between two bad ones starts the count again', () => {
    expect(after([[], [DOWN], [], [DOWN], [], [DOWN]]).verdict).toBe('up')
  })

  test('one good poll does not end an outage; the second does, dated back to the first', () => {
    expect(after([[], [DOWN], [DOWN], []])).toMatchObject({ verdict: 'down' })
    expect(codes(after([[], [DOWN], [DOWN], []]))).toEqual(['unreachable'])

    const streaks = after([[], [DOWN], [DOWN], [], []])

    expect(streaks).toMatchObject({ verdict: 'up', since: 4000 })
    expect(codes(streaks)).toEqual([])
  })

  test('different failures confirm like equal ones, and every one is a condition', () => {
    const streaks = after([[], [DOWN], [BAD]])

    expect(streaks).toMatchObject({ verdict: 'down', since: 2000 })
    expect(codes(streaks).sort()).toEqual(['bad-answer', 'unreachable'])
  })

  test('slow, then unreachable is degraded first, and down one poll later', () => {
    expect(after([[], [SLOW], [DOWN]])).toMatchObject({ verdict: 'degraded', since: 2000 })
    expect(after([[], [SLOW], [DOWN], [DOWN]])).toMatchObject({ verdict: 'down', since: 3000 })
  })

  test('a less severe state is a recovery too', () => {
    const streaks = after([[], [DOWN], [DOWN], [LAGGING], [LAGGING]])

    expect(streaks).toMatchObject({ verdict: 'degraded', since: 4000 })
    expect(codes(streaks)).toEqual(['lagging'])
  })

  test('an endpoint that is down from the start is confirmed after as many polls as any other', () => {
    expect(after([[DOWN]]).verdict).toBeNull()
    expect(after([[DOWN], [DOWN]])).toMatchObject({ verdict: 'down', since: 1000 })
  })

  test('a finding that changes no state is shown, and changes no state', () => {
    const streaks = after([[SKEWED], [SKEWED]])

    expect(streaks.verdict).toBe('up')
    expect(codes(streaks)).toEqual(['clock-skewed'])
  })

  test('a second condition has to be confirmed as well', () => {
    const down = [[], [DOWN], [DOWN]]

    expect(codes(after([...down, [DOWN, SKEWED]]))).toEqual(['unreachable'])
    expect(codes(after([...down, [DOWN, SKEWED], [DOWN, SKEWED]]))).toEqual(['unreachable', 'clock-skewed'])
  })

  test('with thresholds of one every poll counts', () => {
    const once = { failAfter: 1, recoverAfter: 1 }

    expect(after([[], [DOWN]], once).verdict).toBe('down')
    expect(after([[], [DOWN], []], once).verdict).toBe('up')
  })
})

describe('questions that fail', () => {
  /** Polls, each with the questions that failed in it, beside other findings. */
  function asked(polls: readonly (readonly [questions: readonly string[], ...others: Finding[]])[], patience = TWICE) {
    return polls.reduce<ConfirmationState>(
      (state, [questions, ...others], at) =>
        confirm(state, [...(questions.length > 0 ? [DOWN] : []), ...others], (at + 1) * 1000, patience, questions),
      unconfirmed(0),
    )
  }

  test('do not confirm each other', () => {
    const state = asked([[[]], [['head 0']], [['head 1']], [['liveness']], [['head 0', 'head 2']]])

    expect(state).toMatchObject({ verdict: 'up', since: 1000 })
    expect(codes(state)).toEqual([])
  })

  test('confirm after three times as many polls, also where each request goes to another node of a balancer', () => {
    const rotating = [[['a', 'd']], [['c']], [['b']], [['a', 'd']], [['c']], [['b']]] as const
    const state = asked([[[]], ...rotating])

    expect(state).toMatchObject({ verdict: 'down', since: 2000 })
    expect(conditionsOf(state)).toEqual([{ ...DOWN, since: 2000 }])
    expect(asked([[[]], ...rotating.slice(1), [[]], ...rotating.slice(1)]).verdict).toBe('up')
  })

  test('of an endpoint that is down are remembered for no longer than other bad polls', () => {
    const down = asked([[[]], [['a', 'b']], [['b']], [['a']], [['c']], [['a', 'b']], [['b']]])

    expect(down.recent).toHaveLength(2)
  })

  test('of which not all polls have one confirm what the least bad of as many polls says', () => {
    const polls = [[['a'], SLOW], [['b']], [[], SLOW]] as const
    const patience = { failAfter: 3, recoverAfter: 1 }

    expect(asked([[[]], ...polls, ...polls], patience).verdict).toBe('up')
    expect(asked([[[]], ...polls, ...polls, ...polls], patience)).toMatchObject({ verdict: 'degraded', since: 2000 })
  })

  test('confirm when one of them fails again, dated back to its first failure in a row', () => {
    const state = asked([[[]], [['head 0']], [['head 1']], [['head 0', 'head 1', 'liveness']]])

    expect(state).toMatchObject({ verdict: 'down', since: 3000 })
    expect(conditionsOf(state)).toEqual([{ ...DOWN, since: 3000 }])
  })

  test('must have one in common in as many polls as it takes', () => {
    const thrice = { failAfter: 3, recoverAfter: 2 }

    expect(asked([[[]], [['a']], [['a', 'b']], [['b']]], thrice).verdict).toBe('up')
    const state = asked([[[]], [['a']], [['a', 'b']], [['b']], [['b']]], thrice)
    expect(state).toMatchObject({ verdict: 'down', since: 3000 })
    expect(conditionsOf(state)).toEqual([{ ...DOWN, since: 3000 }])
  })

  test('leave the verdict to what else these polls found', () => {
    const state = asked([[[]], [['head 0'], LAGGING], [['head 1'], LAGGING]])

    expect(state).toMatchObject({ verdict: 'degraded', since: 2000 })
    expect(codes(state)).toEqual(['lagging'])
    expect(asked([[[]], [['head 0'], LAGGING], [['head 1'], SKEWED]]).verdict).toBe('up')
  })

  test('count together with what is as bad for another reason', () => {
    const unhealthy = finding('unhealthy', 'down')
    const state = asked([[[]], [['head 0']], [['head 1'], unhealthy]])

    expect(state).toMatchObject({ verdict: 'down', since: 2000 })
  })

  test('keep an endpoint down that has not recovered', () => {
    const state = asked([[[]], [['head 0']], [['head 0']], [[]], [['head 1']], [['liveness']]])

    expect(state).toMatchObject({ verdict: 'down', since: 2000 })
    expect(asked([[[]], [['head 0']], [['head 0']], [['head 1']], [[]], [[]]])).toMatchObject({
      verdict: 'up',
      since: 5000,
    })
  })
})

describe('for any run of polls', () => {
  const anyFindings = fc.subarray([DOWN, BAD, SLOW, LAGGING, SKEWED])
  const anyPatience = fc.record({
    failAfter: fc.integer({ min: 1, max: 4 }),
    recoverAfter: fc.integer({ min: 1, max: 4 }),
  })

  test('a verdict other than up always has a condition at least as bad', () => {
    fc.assert(
      fc.property(fc.array(anyFindings, { maxLength: 30 }), anyPatience, (polls, patience) => {
        const streaks = after(polls, patience)
        const { verdict } = streaks
        if (verdict === null || verdict === 'up') return
        const reasons = conditionsOf(streaks).filter((condition) => severity(condition.verdict) >= severity(verdict))
        expect(reasons).not.toEqual([])
      }),
    )
  })

  test('it gets worse only when the last polls were all worse, and better only when they were all better', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...VERDICTS), { minLength: 1, maxLength: 40 }),
        anyPatience,
        (polls, patience) => {
          let streaks = unconfirmed(0)
          polls.forEach((verdict, at) => {
            const before = streaks.verdict
            const found = verdict === 'up' ? [] : [finding(verdict === 'down' ? 'unreachable' : 'slow', verdict)]
            streaks = confirm(streaks, found, at, patience)
            if (before === null || streaks.verdict === null || streaks.verdict === before) return
            const worse = severity(streaks.verdict) > severity(before)
            const run = polls.slice(0, at + 1).slice(worse ? -patience.failAfter : -patience.recoverAfter)
            expect(run).toHaveLength(worse ? patience.failAfter : patience.recoverAfter)
            for (const poll of run) {
              if (worse) expect(severity(poll)).toBeGreaterThanOrEqual(severity(streaks.verdict))
              else expect(severity(poll)).toBeLessThanOrEqual(severity(streaks.verdict))
            }
            expect(streaks.since).toBe(at - run.length + 1)
          })
        },
      ),
    )
  })

  test('a lasting failure is always found: after failAfter equal polls the verdict is theirs or worse', () => {
    fc.assert(
      fc.property(fc.array(anyFindings, { maxLength: 10 }), anyPatience, (polls, patience) => {
        const streaks = after([...polls, ...Array.from({ length: patience.failAfter }, () => [DOWN])], patience)
        expect(streaks.verdict).toBe('down')
      }),
    )
  })

  test('so is one of other questions each time: after three times failAfter polls', () => {
    const anyQuestions = fc.subarray(['liveness', 'head 0', 'head 1', 'head 2'], { minLength: 1 })
    const anyPoll = fc.tuple(fc.constantFrom([], [SLOW], [DOWN], [BAD], [DOWN, SLOW]), anyQuestions)
    const anyFailing = fc.tuple(fc.constantFrom([DOWN], [BAD], [DOWN, LAGGING]), anyQuestions)
    const all = fc.tuple(fc.array(anyPoll, { maxLength: 10 }), fc.array(anyFailing, { minLength: 12, maxLength: 12 }))
    fc.assert(
      fc.property(all, anyPatience, ([before, failing], patience) => {
        const state = [...before, ...failing.slice(0, 3 * patience.failAfter)].reduce<ConfirmationState>(
          (streaks, [found, questions], at) =>
            confirm(streaks, found, at, patience, found.some(({ verdict }) => verdict === 'down') ? questions : []),
          unconfirmed(0),
        )
        expect(state.verdict).toBe('down')
        expect(conditionsOf(state).some(({ verdict }) => verdict === 'down')).toBe(true)
      }),
    )
  })

  test('it survives being stored as JSON', () => {
    fc.assert(
      fc.property(fc.array(anyFindings, { maxLength: 20 }), anyFindings, (polls, next) => {
        const streaks = after(polls)
        const read = JSON.parse(JSON.stringify(streaks)) as ConfirmationState
        expect(confirm(read, next, 99_000, TWICE)).toEqual(confirm(streaks, next, 99_000, TWICE))
      }),
    )
  })
})
