import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../src/clock.ts'
import type { Endpoint } from '../src/core/endpoint.ts'
import type { Exposition } from '../src/metrics/collect.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { createIncidentLog } from '../src/state/incident-log.ts'
import { endpoint, good, liveness, network, nodeCheck } from '../test/support/network.ts'
import { createWorld, QUIET_STORE, type World } from '../test/support/world.ts'
import { cpuSince } from './support.ts'

/**
 * `/metrics`: the processor time of a rendering, beside plain string building of the same text, and for how long it holds
 * the event loop. Run with `npx tsx bench/scrape.ts`.
 */
const ROUNDS = 15
/** Both are compiled only after some rounds; a daemon that is scraped every 15 s has them behind it in six minutes. */
const WARM_UP_ROUNDS = 25
const NODE_CHECKS = ['bootstrapped', 'database', 'diskspace', 'network', 'router', 'validation']

for (const count of [1000, 10_000]) {
  const world = await worldOf(count)
  const metrics = createMetrics({
    board: world.board,
    incidents: createIncidentLog(),
    // A second of sharing would hide every rendering but the first.
    clock: { ...systemClock, after: (_delayMs, task) => systemClock.after(0, task) },
    version: 'bench',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: null }),
    observer: () => ({ impaired: false, judging: true }),
  })
  await metrics.exposition()
  const renders: number[] = []
  const plains: number[] = []
  const holds: number[] = []
  let bytes = 0
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    await systemClock.sleep(20)
    const watch = watchLoop()
    const started = process.cpuUsage()
    bytes = await sizeOf(await metrics.exposition())
    const cpuMs = cpuSince(started) / 1000
    const holdMs = watch.stop()
    if (round < 0) continue
    renders.push(cpuMs)
    holds.push(holdMs)
  }
  // Only now: half a million lines on the heap would make every garbage collection of the renderings above longer.
  const lines = (await metrics.render()).trimEnd().split('\n').map(splitLine)
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    await systemClock.sleep(20)
    const plainStarted = process.cpuUsage()
    plainBuild(lines)
    if (round >= 0) plains.push(cpuSince(plainStarted) / 1000)
  }
  const render = median(renders)
  const plain = median(plains)
  console.log(
    `${count} endpoints: ${lines.length} lines, ${(bytes / 1e6).toFixed(1)} MB, rendered in ${render.toFixed(0)} ms, ` +
      `plain ${plain.toFixed(0)} ms, ratio ${(render / plain).toFixed(2)}, longest hold ${Math.max(...holds).toFixed(1)} ms (median of rounds ${median(holds).toFixed(1)} ms)`,
  )
}

/** The least that a renderer can do: every line is there but for its number. */
function plainBuild(lines: readonly (readonly [start: string, value: number])[]): Buffer {
  let text = ''
  for (const [start, value] of lines) text += `${start}${value}\n`
  return Buffer.from(text)
}

function splitLine(line: string): readonly [start: string, value: number] {
  const space = line.lastIndexOf(' ') + 1
  return [line.slice(0, space), Number(line.slice(space))]
}

function watchLoop(): { stop(): number } {
  let longest = 0
  let last = performance.now()
  let on = true
  const tick = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (on) setImmediate(tick)
  }
  setImmediate(tick)
  return {
    stop() {
      on = false
      return Math.max(longest, performance.now() - last)
    },
  }
}

async function worldOf(count: number): Promise<World> {
  const perNetwork = 100
  const networks = Array.from({ length: count / perNetwork }, (_, at) => {
    const name = `network-${at}`
    const endpoints: Endpoint[] = Array.from({ length: perNetwork }, (_unused, one) =>
      endpoint(`endpoint-${one}`, {
        network: name,
        family: 'avalanche',
        checks: ['liveness', 'head'],
        intervalMs: 600_000,
      }),
    )
    return { network: network({ name, family: 'avalanche' }), endpoints }
  })
  const world = createWorld(systemClock, networks)
  await world.pollAll({
    liveness: good(liveness(systemClock.now(), { checks: NODE_CHECKS.map((name) => nodeCheck(name)) })),
  })
  return world
}

/** Waits after each block, as an answer does for its compression. */
async function sizeOf(exposition: Exposition): Promise<number> {
  let bytes = 0
  for (const block of exposition.blocks(1024 * 1024)) {
    bytes += block.length
    await turn()
  }
  return bytes
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
