import fc from 'fast-check'
import { createRandom } from '../test/proof/random.ts'
import { FAULTS, type FaultKind } from '../test/support/timeline-truth.ts'
import { anyTimeline, play } from '../test/support/timelines.ts'
import { simulateMonth } from './month.ts'
import { median } from './support.ts'

/**
 * Whether verdicts are right: random timelines of faults from test/support/timelines.ts, each with its ground truth, and a month
 * of a hundred endpoints with much noise and some real outages (bench/month.ts). Exits with 1 if a healthy endpoint was blamed, or
 * a fault was not found in time. The argument `timelines` or `month` runs one part alone; a second argument is another seed. Run with `npx tsx bench/verdicts.ts`.
 */
const TIMELINES = 4000
const DAYS = 30
const [part, seed = '1', size] = process.argv.slice(2)

function figure(name: string, value: string | number): void {
  console.log(`${name.padEnd(64)} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`)
}

function delays(polls: readonly number[]): string {
  return `median ${median(polls)}, worst ${Math.max(...polls)}`
}

async function timelines(): Promise<void> {
  const numRuns = Number(size ?? TIMELINES)
  const found = new Map<FaultKind, { over: number[]; all: number[] }>()
  let [right, polls] = [0, 0]
  for (const timeline of fc.sample(anyTimeline, { seed: Number(seed), numRuns })) {
    const outcome = await play(timeline)
    polls += outcome.polls
    if (outcome.wrongs.length === 0) right++
    else console.error(`${outcome.wrongs.join('\n')}\n${JSON.stringify(timeline)}`)
    for (const { kind, pollsToDetect, failAfter } of outcome.faults) {
      if (pollsToDetect === null) continue
      const of = found.get(kind) ?? { over: [], all: [] }
      found.set(kind, of)
      of.all.push(pollsToDetect)
      of.over.push(pollsToDetect - failAfter)
    }
  }
  figure('timelines: right / all', `${right.toLocaleString('en-US')} / ${numRuns.toLocaleString('en-US')}`)
  figure('timelines: polls', polls)
  for (const kind of FAULTS) {
    const of = found.get(kind)
    if (of !== undefined)
      figure(`timelines: ${kind}: found, polls more than fail_after`, `${of.all.length}, ${delays(of.over)}`)
  }
  if (right < numRuns) process.exitCode = 1
}

async function month(): Promise<void> {
  const random = createRandom(Number(seed))
  const outcome = await simulateMonth(Number(size ?? DAYS), random)
  figure('a month of 100 endpoints: polls', outcome.polls)
  figure('a month of 100 endpoints: single polls that failed', outcome.failedPolls)
  figure('a month of 100 endpoints: own outages', outcome.ownOutages)
  figure('a month of 100 endpoints: healthy endpoints blamed', outcome.falseAccusations)
  figure('a month of 100 endpoints: real outages, of them missed', `${outcome.outages}, ${outcome.missed}`)
  figure('a month of 100 endpoints: polls until they were known', delays(outcome.delays))
  if (outcome.falseAccusations > 0 || outcome.missed > 0) process.exitCode = 1
}

if (part === undefined || part === 'timelines') await timelines()
if (part === undefined || part === 'month') await month()
