import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build } from './build.mjs'
import { line } from './counts.mjs'
import { root } from './prepare.mjs'
import { say } from './say.mjs'

/** Everything that must hold before a change is merged: one line a check, all of them even when one fails, tests last. */
const CHECKS = [
  { name: 'format', run: () => tool('@biomejs/biome/bin/biome', ['check']) },
  { name: 'lint', run: () => tool('oxlint/bin/oxlint', ['--type-aware', '--deny-warnings']) },
  { name: 'types and build', run: build },
  { name: 'types of tests and benches', run: () => tool('typescript/bin/tsc', ['--noEmit', '-p', 'test']) },
  { name: 'dead code', run: () => tool('knip/bin/knip.js', []) },
]

function tool(file, args) {
  const command = join(root, 'node_modules', file)
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0) process.stdout.write(stdout + stderr)
  return status === 0
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

let passed = 0
let failed = 0
for (const { name, run } of CHECKS) {
  const startedAt = performance.now()
  const ok = await run()
  say(`${name}: ${ok ? 'ok' : 'FAILED'} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
  if (ok) passed++
  else failed++
}
const counts = await tests()
passed += counts.passed
failed += counts.failed
console.log(line({ passed, failed, skipped: counts.skipped }))
process.exitCode = failed === 0 ? 0 : 1
