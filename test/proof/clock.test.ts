import { existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { cpuWaitMs } from '../../src/daemon/cpu-wait.ts'
import { removeFolder } from '../support/daemon.ts'
import { requirePackage } from '../support/system-package.ts'
import { AT_ONCE, isAllUp, openScene, type Scene, type SceneOptions } from './scene.ts'

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm'
const NODES = Array.from({ length: 6 }, () => '127.0.0.1')
const HOUR_MS = 3_600_000
/** One poll decides, and a node of ours on a busy machine may take two seconds. */
const INTERVAL_MS = 3000
/** Of the nodes: some poll is always under way. */
const LATENCY_MS = 300

/** A daemon whose wall clock is set by hand, by libfaketime; its monotonic clock is left alone. */
interface Timed {
  readonly scene: Scene
  /** As libfaketime reads it: `+3600` is an hour ahead. */
  set(offset: string): void
}

async function open({ onTestFinished }: TestContext, offset = '+0', options: SceneOptions = {}): Promise<Timed> {
  // The daemon reads it whenever it looks at the clock: in memory, where no busy disk keeps it waiting.
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'heartline-clock-'))
  const file = join(folder, 'offset')
  function set(next: string): void {
    writeFileSync(`${file}.next`, next)
    renameSync(`${file}.next`, file)
  }
  set(offset)
  const scene = await openScene({
    latencyMs: LATENCY_MS,
    intervalMs: INTERVAL_MS,
    hosts: NODES,
    ...options,
    env: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      ...options.env,
    },
  })
  onTestFinished(async () => {
    await scene.close()
    removeFolder(folder)
  })
  return { scene, set }
}

interface Watch {
  readonly from: number
  readonly waitedMs: number
}

function watch(scene: Scene): Watch {
  return { from: performance.now(), waitedMs: waitedMsOf(scene) }
}

/** How long the daemon, and this process with its nodes, have waited for a CPU. */
function waitedMsOf({ daemon }: Scene): number {
  return (cpuWaitMs(daemon.process.pid) ?? 0) + (cpuWaitMs() ?? 0)
}

/** As the nodes see it: since then every node is polled, and none in a burst, as exactly as a busy machine allows. */
function expectSteadyPolls(scene: Scene, { from, waitedMs }: Watch): void {
  const to = performance.now()
  const lateMs = waitedMsOf(scene) - waitedMs
  for (const node of scene.nodes) {
    const times = scene.polls(node).filter((at) => at >= from)
    expect(Math.abs(times.length - (to - from) / INTERVAL_MS)).toBeLessThanOrEqual(2.5 + lateMs / INTERVAL_MS)
    expect(Math.max(...gapsOf(times))).toBeLessThan(3 * INTERVAL_MS + lateMs)
  }
}

function gapsOf(times: readonly number[]): readonly number[] {
  return times.slice(1).map((at, index) => at - (times[index] ?? at))
}

describe.skipIf(!requirePackage('faketime', 'faketime')).concurrent('a wall clock', () => {
  test.for([
    { what: 'forward', hours: 1 },
    { what: 'back', hours: -1 },
  ])(
    'that is set $what by an hour changes no poll and no verdict, and is reported',
    { timeout: 120_000 },
    async ({ what, hours }, context) => {
      // Liveness has times of its own to compare.
      const { scene, set } = await open(context, '+0', { family: 'avalanche', thresholds: AT_ONCE })
      const since = watch(scene)

      const before = Date.now()
      set(hours > 0 ? '+3600' : '-3600')
      const set0 = performance.now()
      const reported = await scene.until(({ observer }) => observer.reasons.join().includes('clock'), 'it is reported')
      const up = await scene.until(isAllUp, 'everybody is up again')
      const unknownMs = performance.now() - set0
      await systemClock.sleep(3 * INTERVAL_MS)
      expectSteadyPolls(scene, since)
      const last = await scene.look()
      expect(await scene.accusations()).toEqual([])
      const { polls, incidents } = await scene.written()

      expect(reported.observer.reasons).toContain(`this machine's clock was set ${what} by 60 min`)
      expect(unknownMs).toBeLessThan(3 * INTERVAL_MS)
      const direction = hours > 0 ? 'forward' : 'backward'
      expect(up.metric('clock_jumps_total', { direction })).toBe(1)
      expect(last.metric('clock_jumps_total')).toBe(1)
      expect(incidents).toBe(0)
      for (const times of polls) {
        const shifted = times.filter((at) => Math.abs(at - before - hours * HOUR_MS) < HOUR_MS / 2)
        expect(shifted.length).toBeGreaterThanOrEqual(3)
        expect(times.length - shifted.length).toBeGreaterThanOrEqual(1)
      }
    },
  )

  test('that runs fast or slow does not count as set', { timeout: 120_000 }, async (context) => {
    // A thousand times what a bad crystal does: over the test it adds up to more than a jump.
    const { scene } = await open(context, '+0 x1.1')
    const since = watch(scene)

    await systemClock.sleep(5 * INTERVAL_MS)

    const { observer, metric } = await scene.look()
    expect(metric('clock_jumps_total')).toBe(0)
    expect(observer.reasons.join()).not.toContain('clock')
    expectSteadyPolls(scene, since)
    expect(await scene.accusations()).toEqual([])
  })

  test.for([
    { TZ: 'Europe/Bucharest', spring: Date.UTC(2027, 2, 28, 1), autumn: Date.UTC(2027, 9, 31, 1) },
    { TZ: 'America/New_York', spring: Date.UTC(2027, 2, 14, 7), autumn: Date.UTC(2027, 10, 7, 6) },
  ])(
    'in $TZ changes nothing when it goes to summer time and back: as many polls before as after, in UTC',
    { timeout: 120_000 },
    async ({ TZ, spring, autumn }, context) => {
      const { scene, set } = await open(context, '+0', { env: { TZ }, hosts: NODES.slice(0, 3) })

      for (const [jumps, at] of [spring, autumn].entries()) {
        set(`+${(at - Date.now() - 2 * INTERVAL_MS) / 1000}`)
        await scene.until((look) => look.metric('clock_jumps_total') > jumps && isAllUp(look), 'it is nearly time')
        const since = watch(scene)
        await systemClock.sleep(5 * INTERVAL_MS)
        expectSteadyPolls(scene, since)
      }
      const last = await scene.look()
      expect(await scene.accusations()).toEqual([])
      const { polls, incidents } = await scene.written()

      // Those that are ours.
      expect(last.metric('clock_jumps_total')).toBe(2)
      expect(incidents).toBe(0)
      for (const times of polls) {
        for (const at of [spring, autumn]) {
          const around = times.filter((time) => Math.abs(time - at) < 4 * INTERVAL_MS)
          expect(around[0]).toBeLessThan(at)
          expect(around.at(-1)).toBeGreaterThan(at + 2 * INTERVAL_MS)
          expect(Math.max(...gapsOf(around))).toBeLessThan(3 * INTERVAL_MS)
        }
      }
    },
  )
})
