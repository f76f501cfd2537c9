import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './prepare.mjs'

/** Marks of a test that waits: it uses processes, browsers, threads or the system's clock. */
const WAITS = /\bfrom '(?:node:child_process|node:worker_threads|playwright-core)'|\bsystemClock\b|\bsetTimeout\b/
/**
 * Leases of real daemons expire and alerts of a real Prometheus fire by the clock, so these are among the first, and come before all
 * others on the processor: what is late is tried longer, and takes several times the processor time.
 */
const BY_CLOCK = /\bfrom '\.\/(?:members|rehearsal)\.ts'/
/** A mocked module must not be shared with other files. */
const MOCKS = /\bvi\.mock\(/
const LOCAL_IMPORT = /\bfrom '(\.[^']+\.ts)'/g

/**
 * Divides the test files by what they and their helpers import. `timed` and `waiting` ones leave the cores idle, so that many of
 * them run at once. `quick` ones only compute, so one worker per core runs them, at the end. The files of a worker share their
 * modules, except `mocking` ones.
 */
export function testRooms() {
  const folder = join(root, 'test')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(folder, file))
    .sort()
  const waits = createWaits(folder)
  const has = (file, mark) => mark.test(readFileSync(file, 'utf8'))
  const roomOf = (file) =>
    has(file, MOCKS) ? 'mocking' : has(file, BY_CLOCK) ? 'timed' : waits(file) ? 'waiting' : 'quick'
  const named = (room) => files.filter((file) => roomOf(file) === room).map((file) => relative(root, file))
  return { quick: named('quick'), waiting: named('waiting'), timed: named('timed'), mocking: named('mocking') }
}

function createWaits(folder) {
  const known = new Map()
  function ownMarks(file) {
    if (known.has(file)) return known.get(file)
    const text = readFileSync(file, 'utf8')
    const helpers = [...text.matchAll(LOCAL_IMPORT)]
      .map(([, path]) => join(dirname(file), path))
      .filter((path) => path.startsWith(folder) && existsSync(path))
    const marks = { waits: WAITS.test(text), helpers }
    known.set(file, marks)
    return marks
  }
  return function waits(file) {
    // Helpers may import each other.
    const reached = new Set([file])
    for (const each of reached) {
      const { waits: isWaiting, helpers } = ownMarks(each)
      if (isWaiting) return true
      for (const helper of helpers) reached.add(helper)
    }
    return false
  }
}
