import { expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/core/time.ts'
import { spreadView } from '../../src/http/gateway-traffic.ts'
import { createMinuteStats } from '../../src/metrics/daemon-history.ts'
import { createHistogram } from '../../src/metrics/histogram.ts'
import { createFakeClock } from '../support/fake-clock.ts'

function setUp() {
  const clock = createFakeClock()
  let requests = 0
  const resident: (number | null)[] = [1000]
  const recorder = createMinuteStats({
    clock,
    queueRows: () => 3,
    residentBytes: () => resident.at(-1) ?? null,
    requests: () => ({ requests, failed: 0 }),
  })
  return {
    clock,
    recorder,
    ask: (count: number) => void (requests += count),
    resides: (bytes: number | null) => void resident.push(bytes),
  }
}

test('a minute has the maximum of each gauge, and the increase of each counter without polls that nodes did not want', async () => {
  const { clock, recorder, ask } = setUp()

  recorder.loopBlocked(20)
  recorder.loopBlocked(900)
  recorder.pollLate(5)
  recorder.pollsSkipped('late', 2)
  recorder.pollsSkipped('rate-limited', 5)
  ask(4)
  recorder.sample()
  await clock.advance(MINUTE_MS)
  ask(1)
  recorder.sample()

  expect(recorder.minutes()).toMatchObject([
    { loopLagMs: 900, pollLagMs: 5, skips: 2, queueRows: 3, requests: 4 },
    { loopLagMs: 0, skips: 0, requests: 1 },
  ])
})

test('memory is that of the latest sample, also before the first one of a minute, and where it cannot be read', async () => {
  const { clock, recorder, resides } = setUp()

  expect(recorder.residentBytes()).toBe(1000)
  resides(3000)
  recorder.sample()
  resides(2000)
  recorder.sample()
  resides(null)
  await clock.advance(MINUTE_MS)
  recorder.pollLate(5)

  expect(recorder.residentBytes()).toBe(2000)
  expect(recorder.minutes()).toMatchObject([{ residentBytes: 3000 }, { residentBytes: 2000 }])
  recorder.sample()
  expect(recorder.residentBytes()).toBe(2000)
})

test('a minute without figures is unknown', async () => {
  const { clock, recorder } = setUp()
  recorder.sample()

  await clock.advance(2 * MINUTE_MS)
  recorder.sample()

  expect(recorder.minutes().map((minute) => minute !== null)).toEqual([true, false, true])
})

test('the latest three hours are kept', async () => {
  const { clock, recorder } = setUp()

  for (let minute = 0; minute < 200; minute++) {
    recorder.sample()
    await clock.advance(MINUTE_MS)
  }

  expect(recorder.minutes()).toHaveLength(180)
  expect(recorder.since() + 179 * MINUTE_MS).toBe(clock.now())
})

test('quantiles of several histograms lie in the right bucket, and without observations there are none', () => {
  const [fast, slow] = [createHistogram([0.01, 0.1]), createHistogram([0.01, 0.1])]
  for (let n = 0; n < 50; n++) fast.observe(5)
  for (let n = 0; n < 50; n++) slow.observe(5000)

  expect(spreadView([fast, slow])).toEqual({ count: 100, p50_seconds: 0.01, p99_seconds: 0.1 })
  expect(spreadView([createHistogram()])).toEqual({ count: 0, p50_seconds: null, p99_seconds: null })
  expect(spreadView([])).toEqual({ count: 0, p50_seconds: null, p99_seconds: null })
})
