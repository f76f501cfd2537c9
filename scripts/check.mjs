import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { bundle, checkTypes } from './build.mjs'
import { line } from './counts.mjs'
import { root } from './prepare.mjs'
import { say } from './say.mjs'

/** They take the time in which tests wait, and these must not wait for them. */
const IN_SPARE_TIME = constants.priority.PRIORITY_LOW

/** Everything that must hold before a change is merged: one line a check, all of them even when one fails. */
async function checkAndTest() {
  const isBuilt = await check('build', bundle)
  const [tested, ...outcomes] = await Promise.all([tests(), ...checks()])
  const passed = [isBuilt, ...outcomes].filter(Boolean).length
  return { ...tested, passed: tested.passed + passed, failed: tested.failed + outcomes.length + 1 - passed }
}

function checks() {
  const types = check('types', () => checkTypes({ priority: IN_SPARE_TIME }))
  /** These read the declarations that the check of types writes. */
  const then = async (name, file, args) => {
    await types
    return check(name, () => tool(file, args))
  }
  return [
    types,
    check('format', () => tool('@biomejs/biome/bin/biome', ['check'])),
    then('lint', 'oxlint/bin/oxlint', ['--type-aware', '--deny-warnings']),
    then('types of tests and benches', 'typescript/bin/tsc', ['--noEmit', '-p', 'test']),
    then('dead code', 'knip/bin/knip.js', ['--no-config-hints']),
  ]
}

async function check(name, run) {
  const startedAt = performance.now()
  const ok = await run()
  say(`${name}: ${ok ? 'ok' : 'FAILED'} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  return ok
}

function tool(file, args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', file), ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (child.pid !== undefined) setPriority(child.pid, IN_SPARE_TIME)
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
