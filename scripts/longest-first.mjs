import { relative } from 'node:path'
import { BaseSequencer } from 'vitest/node'
import { root } from './prepare.mjs'
import { readUsualTimes } from './usual-times.mjs'

/**
 * Starts those that usually take longest first, so that no long one is left alone at the end; new ones come before them. Of the
 * first ones two in three are timed, which leave the cores idle for long.
 */
export default class LongestFirst extends BaseSequencer {
  async sort(specs) {
    const usual = readUsualTimes()
    const seconds = (spec) => usual.get(relative(root, spec.moduleId)) ?? Infinity
    const group = ({ project }) => project.config.sequence.groupOrder
    const sorted = [...specs].sort(
      (a, b) => group(a) - group(b) || (seconds(a) === seconds(b) ? 0 : seconds(b) - seconds(a)),
    )
    const isTimed = ({ project }) => project.name === 'timed'
    const timed = sorted.filter(isTimed).map((spec, at) => ({ spec, place: at }))
    const others = sorted.filter((spec) => !isTimed(spec)).map((spec, at) => ({ spec, place: 2 * at + 1.5 }))
    return [...timed, ...others].sort((a, b) => a.place - b.place).map(({ spec }) => spec)
  }
}
