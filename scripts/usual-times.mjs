import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

const TABLE = 'test/usual-times.txt'
const FACTOR = 5
/** Below this, a pause of the machine is most of the time. */
const LEAST_EXCESS_S = 2
/** A median of fewer files says nothing about the machine. */
const LEAST_FILES = 10

/** Seconds that each test file usually takes, by path: one line a file in `test/usual-times.txt`. */
export function readUsualTimes(folder = root) {
  const path = join(folder, TABLE)
  if (!existsSync(path)) return new Map()
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return new Map(lines.map((line) => line.split(' ')).map(([file, seconds]) => [file, Number(seconds)]))
}

/** Writes the seconds of this run over those of earlier ones, and forgets files that are gone. */
export function writeUsualTimes(times, folder = root) {
  const all = new Map([...readUsualTimes(folder), ...times])
  const lines = [...all]
    .filter(([file]) => existsSync(join(folder, file)))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, seconds]) => `${file} ${Math.max(0.01, seconds).toFixed(2)}\n`)
  writeFileSync(join(folder, TABLE), lines.join(''))
}

/**
 * The files that took over five times as long as usual, each as a line. A machine that is slower in all of them is no
 * reason: the usual times are multiplied by the median ratio of the run.
 */
export function unusualTimes(times, usual) {
  const ratios = [...times]
    .filter(([file]) => (usual.get(file) ?? 0) > 0)
    .map(([file, seconds]) => seconds / usual.get(file))
    .sort((a, b) => a - b)
  if (ratios.length < LEAST_FILES) return []
  const slowness = Math.max(1, ratios[Math.floor(ratios.length / 2)])
  return [...times]
    .map(([file, seconds]) => ({ file, seconds, expected: (usual.get(file) ?? Infinity) * slowness }))
    .filter(({ seconds, expected }) => seconds > FACTOR * expected && seconds - expected > LEAST_EXCESS_S)
    .map(
      ({ file, seconds, expected }) =>
        `unusually slow: ${file} took ${seconds.toFixed(1)} s, expected ${expected.toFixed(1)} s`,
    )
}
