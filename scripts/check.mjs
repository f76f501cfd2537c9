import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { line } from './counts.mjs'
import { root } from './prepare.mjs'
import { say } from './say.mjs'

/**
 * Everything that must hold before a change is merged: one line a check, all of them even when one fails. Lint, dead code
 * and the types of tests look at what the build writes; they take the time in which tests wait.
 */
async function checkAndTest() {
  const first = await Promise.all([
    check('format', () => tool('@biomejs/biome/bin/biome', ['check'])),
    check('types and build', build),
  ])
  const [tested, ...second] = await Promise.all([
    tests(),
    check('lint', () => tool('oxlint/bin/oxlint', ['--type-aware', '--deny-warnings'])),
    check('types of tests and benches', () => tool('typescript/bin/tsc', ['--noEmit', '-p', 'test'])),
    check('dead code', () => tool('knip/bin/knip.js', ['--no-config-hints'])),
  ])
  const outcomes = [...first, ...second]
  const passed = outcomes.filter(Boolean).length
  return { ...tested, passed: tested.passed + passed, failed: tested.failed + outcomes.length - passed }
}

async function check(name, run) {
  const startedAt = performance.now()
  const ok = await run()
  say(`${name}: ${ok ? 'ok' : 'FAILED'} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return ok
}

/** At the lowest priority: tests of time must not wait for it. */
function tool(file, args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', file), ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
    let output = ''
    const keep = (chunk) => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.on('close', (status) => {
      if (status !== 0) process.stdout.write(output)
      resolve(status === 0)
    })
  })
}

/** The counting reporter sends its counts here instead of printing them. */
function tests() {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return new Promise((resolve) => {
    let counts = null
    const child = spawn(process.execPath, [vitest, 'run'], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => {
      counts = message
    })
    child.on('close', (status) => {
      const { passed, failed, skipped } = counts ?? { passed: 0, failed: 1, skipped: 0 }
      // A run that ends badly without a failed test (an unhandled error, a crash) has failed all the same.
      resolve({ passed, failed: status === 0 ? failed : Math.max(1, failed), skipped })
    })
  })
}

const counts = await checkAndTest()
console.log(line(counts))
process.exitCode = counts.failed === 0 ? 0 : 1
