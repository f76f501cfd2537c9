import fc from 'fast-check'
import type { PollRecord } from '../../src/store/store.ts'

/** What happens to a store in some hours, in the order in which it learns of it. */
export type Step =
  | { readonly kind: 'poll'; readonly gapMs: number; readonly record: Partial<PollRecord> }
  | { readonly kind: 'late'; readonly backMs: number; readonly record: Partial<PollRecord> }
  | { readonly kind: 'amend'; readonly backMs: number; readonly state: PollRecord['state']; readonly fresh: boolean }
  | { readonly kind: 'hold'; readonly holdMs: number }
  | { readonly kind: 'maintain'; readonly periods: readonly { readonly startMs: number; readonly lengthMs: number }[] }
  | { readonly kind: 'roll-up' }

const state = fc.constantFrom('up', 'degraded', 'down', 'unknown' as const)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const record = fc.record({
  state,
  fresh: fc.boolean(),
  latencyMs: orNull(fc.integer({ min: 1, max: 5000 })),
  height: orNull(fc.nat(1000)),
  lagBlocks: orNull(fc.nat(5)),
  heartbeatLagMs: orNull(fc.nat(5000)),
  contiguousFailures: orNull(fc.nat(9)),
})
export const seconds = (max: number) => fc.integer({ min: 1, max }).map((value) => value * 1000)
/** From now on, or told late; overlapping, too. The next plan takes back what it does not name again. */
const periods = fc.array(
  fc.record({
    startMs: fc.integer({ min: -2_400_000, max: 1_800_000 }),
    lengthMs: fc.integer({ min: 1, max: 4_000_000 }),
  }),
  { maxLength: 3 },
)
export const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('poll' as const), gapMs: seconds(200), record }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('poll' as const), gapMs: seconds(5000), record }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), backMs: seconds(1500), record }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('amend' as const), backMs: seconds(900), state, fresh: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('hold' as const), holdMs: seconds(800) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('maintain' as const), periods }) },
    { weight: 3, arbitrary: fc.constant({ kind: 'roll-up' as const }) },
  ),
  { minLength: 1, maxLength: 120 },
)
