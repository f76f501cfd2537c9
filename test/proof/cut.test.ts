import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { SimulatedNode } from '../../src/simulator/node.ts'
import { bundled } from '../support/bundled.ts'
import type { Seen } from './children/cut-off.ts'
import { INTERVAL_MS, isAllUp, type Look, openScene, type Scene } from './scene.ts'

// On a busy machine it takes a daemon long to start.
vi.setConfig({ testTimeout: 120_000 })

const CUT_OFF = fileURLToPath(new URL('./children/cut-off.ts', import.meta.url))

/** Only root may; elsewhere the test is skipped, which CI=true does not allow. */
function canIsolate(): boolean {
  if (spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0) return true
  if (process.env.CI === 'true') throw new Error('the test of a lost network needs root, unshare and ip')
  console.warn('\n!!! SKIPPED: the test of a lost network needs root, unshare and ip\n')
  return false
}

async function open({ onTestFinished }: TestContext, hosts: readonly string[]): Promise<Scene> {
  const scene = await openScene({ hosts })
  onTestFinished(() => scene.close())
  return scene
}

function vanish(nodes: readonly SimulatedNode[]): void {
  for (const node of nodes) node.inject({ kind: 'refuse' })
}

/** By the status and by the metrics, which are up to a second older. */
function isAllUnknown({ states, metric }: Look): boolean {
  return (
    states.every((state) => state === 'unknown') && metric('endpoint_state', { state: 'unknown' }) === states.length
  )
}

/** On a busy machine there may be other reasons. */
function tellsOfNetwork(reasons: readonly string[]): boolean {
  return reasons.some((reason) => reason.endsWith("this machine's network seems to be gone"))
}

describe.concurrent('our own network', () => {
  test('that is gone makes all endpoints unknown and none down; they are judged again when it is back', async (context) => {
    const scene = await open(context, ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.4'])
    const [first, ...others] = scene.nodes
    if (first === undefined) throw new Error('no node')

    vanish(scene.nodes)
    const cut = await scene.until(
      (look) => isAllUnknown(look) && look.metric('observer_impaired') === 1,
      'everybody is unknown',
    )
    await systemClock.sleep(4 * INTERVAL_MS)
    const later = await scene.look()
    first.heal()
    await scene.until(({ states, observer }) => states[0] === 'up' && !tellsOfNetwork(observer.reasons), 'one is back')
    const rest = await scene.until(
      ({ states, metric }) => states.join() === 'up,down,down,down' && metric('incidents_open') === 3,
      'the others are judged',
    )
    for (const node of others) node.heal()
    await scene.until(isAllUp, 'everybody is back')
    const { incidents } = await scene.written()

    expect(cut.observer.reasons).toContain("none of 3 hosts can be reached: this machine's network seems to be gone")
    for (const look of [cut, later]) {
      expect(look.metric('observer_impaired')).toBe(1)
      expect(look.metric('endpoint_state_changes_total')).toBe(0)
      expect(look.metric('incidents_open')).toBe(0)
    }
    expect(isAllUnknown(later)).toBe(true)
    // One that answers is proof that the network works: now they are down on their own.
    expect(tellsOfNetwork(rest.observer.reasons)).toBe(false)
    expect(incidents).toBe(3)
  })

  test('is not blamed when one of several hosts is gone with all its endpoints, or the only host', async (context) => {
    const some = await open(context, ['127.0.0.2', '127.0.0.3', '127.0.0.3'])
    const alone = await open(context, ['127.0.0.1', '127.0.0.1'])

    vanish(some.nodes.slice(1))
    vanish(alone.nodes)
    const gone = await some.until(
      ({ states, metric }) => states.join() === 'up,down,down' && metric('incidents_open') === 2,
      'they are down',
    )
    const all = await alone.until(
      ({ states, metric }) => states.join() === 'down,down' && metric('incidents_open') === 2,
      'they are down',
    )

    for (const { observer } of [gone, all]) expect(tellsOfNetwork(observer.reasons)).toBe(false)
  })

  test.skipIf(!canIsolate())(
    'that is not up yet, or loses all its routes, is distinguished from nodes that are gone',
    async () => {
      const command = ['-n', process.execPath, await bundled(CUT_OFF)]

      const { stdout } = await promisify(execFile)('unshare', command)
      const { early, cut, later, back } = JSON.parse(stdout) as Record<'early' | 'cut' | 'later' | 'back', Seen>

      for (const seen of [early, cut, later]) {
        expect(seen).toEqual({
          states: ['unknown', 'unknown', 'unknown'],
          impaired: true,
          judging: false,
          reasons: expect.arrayContaining([
            "none of 3 hosts can be reached: this machine's network seems to be gone",
          ]) as string[],
          stateChanges: 0,
          incidentsOpen: 0,
        })
      }
      expect(tellsOfNetwork(back.reasons)).toBe(false)
      expect(back).toMatchObject({ states: ['up', 'up', 'up'], stateChanges: 0, incidentsOpen: 0 })
    },
  )
})
