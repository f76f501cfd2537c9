import { readUsualTimes, unusualTimes, writeUsualTimes } from './usual-times.mjs'

/** The closing line of a test run, for machines and people: `12 passed, 0 failed`. */
export function line({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/**
 * A vitest reporter that counts, and says so as the very last thing (or to the parent process, if that listens). It
 * names files that took much longer than usual, or with USUAL_TIMES=write records what they took.
 */
export default class Counts {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      // A module that does not load, or a failed beforeAll, has no failed test of its own.
      counts.failed += module.errors().length
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') counts.passed++
        else if (state === 'skipped') counts.skipped++
        else counts.failed++
      }
    }
    if (counts.passed + counts.failed === 0) counts.failed = 1
    if (counts.failed > 0) process.exitCode = 1
    const times = new Map(modules.map((module) => [module.relativeModuleId, module.diagnostic().duration / 1000]))
    if (process.env.USUAL_TIMES === 'write') writeUsualTimes(times)
    else for (const sentence of unusualTimes(times, readUsualTimes())) console.log(sentence)
    if (process.send) process.send(counts)
    else process.once('exit', () => console.log(line(counts)))
  }
}
