import { relative } from 'node:path'
import { BaseSequencer } from 'vitest/node'
import { root } from './prepare.mjs'
import { readUsualTimes } from './usual-times.mjs'

/**
 * Starts the timed files first, then those that usually take longest, so that no long one is left alone at the end. New
 * ones come first.
 */
export default class LongestFirst extends BaseSequencer {
  async sort(specs) {
    const usual = readUsualTimes()
    const seconds = (spec) => usual.get(relative(root, spec.moduleId)) ?? Infinity
    const rank = ({ project }) => (project.name === 'timed' ? -1 : project.config.sequence.groupOrder)
    return [...specs].sort((a, b) => rank(a) - rank(b) || (seconds(a) === seconds(b) ? 0 : seconds(b) - seconds(a)))
  }
}
