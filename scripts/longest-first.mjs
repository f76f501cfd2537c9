import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { BaseSequencer } from 'vitest/node'
import { root } from './prepare.mjs'
import { readUsualTimes } from './usual-times.mjs'

/** Files that run beside each other, for each core: nearly all of them wait most of the time, the `quick` ones never. */
export const workersPerCore = Number(process.env.WORKERS_PER_CORE ?? 4)

/**
 * Starts the files that usually take longest first, so that no long one is left alone at the end. New ones come first.
 * The `quick` ones run while the longest wait, in few workers: each worker loads all modules once more.
 */
export default class LongestFirst extends BaseSequencer {
  async sort(specs) {
    const usual = readUsualTimes()
    const seconds = (spec) => usual.get(relative(root, spec.moduleId)) ?? Infinity
    const longestFirst = [...specs].sort((a, b) => (seconds(a) === seconds(b) ? 0 : seconds(b) - seconds(a)))
    const isQuick = (spec) => spec.project.name === 'quick'
    const others = longestFirst.filter((spec) => !isQuick(spec))
    const longest = (workersPerCore - 1) * availableParallelism()
    const mixed = [...others.slice(0, longest), ...longestFirst.filter(isQuick), ...others.slice(longest)]
    const group = (spec) => spec.project.config.sequence.groupOrder
    return mixed.sort((a, b) => group(a) - group(b))
  }
}
