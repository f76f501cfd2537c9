import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus, setPriority } from 'node:os'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { AT_ONCE, historyOf, INTERVAL_MS, isAllUp, openScene, type Scene, type SceneOptions } from './scene.ts'

const HOLD = new URL('./children/hold.mjs', import.meta.url)
/** Of the nodes: there is always a poll under way. */
const LATENCY_MS = 200

// On a busy machine it takes a daemon long to start.
vi.setConfig({ testTimeout: 120_000 })

async function open({ onTestFinished }: TestContext, options: SceneOptions = {}): Promise<Scene> {
  const scene = await openScene({ latencyMs: LATENCY_MS, thresholds: AT_ONCE, ...options })
  onTestFinished(() => scene.close())
  return scene
}

/** How many polls reached this node from then to then. */
function pollsBetween(times: readonly number[], from: number, to: number): number {
  return times.filter((at) => at >= from && at < to).length
}

describe.concurrent('a daemon that stands still', () => {
  test('as a whole (SIGSTOP) blames no node, catches up with one poll each, and has no data for that time', async (context) => {
    const stoppedMs = 5000
    const scene = await open(context)
    const pid = Number(scene.daemon.process.pid)

    process.kill(pid, 'SIGSTOP')
    const from = Date.now()
    await systemClock.sleep(stoppedMs)
    const to = Date.now()
    const woken = performance.now()
    process.kill(pid, 'SIGCONT')
    const after = await scene.until(({ observer }) => observer.impaired, 'it is reported')
    await systemClock.sleep(4 * INTERVAL_MS)

    expect(after.observer.reasons).toContainEqual(expect.stringMatching(/^this process stood still for \d/))
    for (const node of scene.nodes) {
      const polls = scene.polls(node)
      // Of five missed turns one is made up for, beside the poll that was stopped on its way and the next turn.
      expect(pollsBetween(polls, woken, woken + INTERVAL_MS)).toBeLessThanOrEqual(3)
      expect(pollsBetween(polls, woken, woken + 4 * INTERVAL_MS)).toBeGreaterThanOrEqual(3)
      // Its last result before held for two intervals.
      const within = `from=${new Date(from + 2 * INTERVAL_MS + 500).toISOString()}&to=${new Date(to).toISOString()}&step=1s`
      const buckets = await historyOf(scene.daemon, node.name, within)
      expect(buckets.length).toBeGreaterThanOrEqual(1)
      for (const bucket of buckets) {
        expect(bucket).toMatchObject({ up_seconds: 0, polls: 0 })
      }
    }
    expect((await scene.look()).metric('scheduler_skips_total', { reason: 'late' })).toBeGreaterThanOrEqual(9)
    expect(await scene.accusations()).toEqual([])
  })

  test('with its event loop blocked for 5 s blames no node for a late answer, and counts the missed turns', async (context) => {
    const scene = await open(context, {
      hosts: Array.from({ length: 10 }, () => '127.0.0.1'),
      env: { NODE_OPTIONS: `--import ${HOLD.href}`, HOLD_MS: '5000' },
    })

    scene.daemon.process.kill('SIGUSR2')
    await systemClock.sleep(100)
    const after = await scene.until(({ observer }) => observer.impaired, 'it is reported')
    const well = await scene.until(isAllUp, 'everybody is up')
    await systemClock.sleep(2 * INTERVAL_MS)

    expect(after.observer.reasons).toContainEqual(expect.stringMatching(/^this process stood still for [45]/))
    expect(well.metric('scheduler_skips_total', { reason: 'late' })).toBeGreaterThanOrEqual(35)
    expect(await scene.accusations()).toEqual([])
  })
})

describe('a daemon that gets almost no CPU', () => {
  test('blames no node for it', async (context) => {
    const scene = await open(context, { hosts: Array.from({ length: 10 }, () => '127.0.0.1'), thresholds: {} })
    const burners: ChildProcess[] = []
    context.onTestFinished(() => burners.forEach((burner) => burner.kill('SIGKILL')))

    setPriorities(Number(scene.daemon.process.pid), 19)
    for (let turn = 0; turn < 4 * cpus().length; turn++) burners.push(burn())
    await systemClock.sleep(4000)
    for (const burner of burners) burner.kill('SIGKILL')
    // Beside the other tests it could stay without CPU. Only root may raise a priority.
    if (process.getuid?.() === 0) setPriorities(Number(scene.daemon.process.pid), 0)

    expect((await scene.look()).metric('scheduler_lag_seconds_sum')).toBeGreaterThan(0.1)
    expect(await scene.accusations()).toEqual([])
  })
})

/** Of all its threads: a priority is a thread's own. */
function setPriorities(pid: number, priority: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), priority)
}

/** Nicer than everything but the starved one. */
function burn(): ChildProcess {
  const child = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' })
  setPriority(Number(child.pid), 10)
  return child
}
