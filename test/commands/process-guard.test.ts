import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'

const SECRET = 'hunter2-hunter2'

let folder: string
let daemon: RunningDaemon

/** A daemon in whose process SIGUSR2 causes the fault that the file `fault` names. */
beforeEach(async () => {
  folder = temporaryFolder()
  const faults = join(folder, 'faults.mjs')
  writeFileSync(
    faults,
    `import { readFileSync } from 'node:fs'
    import { connect } from 'node:net'
    const cause = {
      rejection: () => void Promise.reject(new TypeError('${SECRET}')),
      system: () => void connect(1, '127.0.0.1'),
      exception: () => { throw new TypeError('${SECRET}') },
    }
    if (process.argv[2] === 'serve') process.on('SIGUSR2', () => cause[readFileSync('${join(folder, 'fault')}', 'utf8')]())`,
  )
  daemon = await startDaemon(
    { networks: [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'own', url: 'http://127.0.0.1:1' }] }] },
    { folder, early: true, env: { NODE_OPTIONS: `--import=${faults}` } },
  )
})

afterEach(async () => {
  await daemon.stop('SIGKILL')
  removeFolder(folder)
})

function cause(fault: string): void {
  writeFileSync(join(folder, 'fault'), fault)
  daemon.process.kill('SIGUSR2')
}

const counted = async (source: string) =>
  (await daemon.get('/metrics')).text.includes(`heartline_uncaught_errors_total{source="${source}"} 1\n`)

test.each([
  ['a rejected promise', 'rejection', 'rejection', 'unhandled rejection: Heartline goes on'],
  ['a system error', 'system', 'exception', 'uncaught system error: Heartline goes on'],
])('%s that nothing handles is logged and counted, and the daemon goes on', async (_title, fault, source, line) => {
  cause(fault)
  await until(() => counted(source), 'it is counted')

  expect(daemon.log()).toContain(line)
  expect(daemon.log()).toMatch(/"stack":\["at /)
  expect(daemon.log()).not.toContain(SECRET)
  expect(daemon.process.exitCode).toBeNull()
  expect(await daemon.stop()).toBe(0)
})

test('an exception that may have left something half done is logged, and ends the process with 70', async () => {
  cause('exception')
  await until(() => daemon.process.exitCode !== null, 'it ends')

  expect(daemon.process.exitCode).toBe(70)
  expect(daemon.log()).toContain('uncaught exception: Heartline ends')
  expect(daemon.log()).toMatch(/"error":"TypeError","stack":\["at /)
  expect(daemon.log()).not.toContain(SECRET)
})
