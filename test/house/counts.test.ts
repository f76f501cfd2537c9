import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createProject, type Project, runNode } from '../support/project.ts'

let project: Project

beforeEach(() => {
  project = createProject({ copies: ['scripts', 'vitest.config.mjs', 'test/support/lit.ts'] })
  project.borrowPackages()
  project.write({ 'package.json': '{ "name": "counted", "type": "module" }' })
})
afterEach(() => project.remove())

async function run(
  more: Record<string, string> = {},
  args: readonly string[] = [],
): Promise<{ status: number | null; stdout: string; lastLine: string | undefined }> {
  const outer = Object.entries(process.env).filter(([name]) => !/^(VITEST|VITE_|TEST$|NODE_ENV$)/.test(name))
  const vitest = runNode(project.folder, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    ...Object.fromEntries(outer),
    ...more,
  })
  const { status, stdout: colored } = await vitest.ended
  const stdout = stripVTControlCharacters(colored)
  return { status, stdout, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

const testFile = (body: string) => `import { describe, beforeAll, expect, test } from 'vitest'\n${body}\n`

test('the last line counts what passed, failed and was skipped, and a failure is the exit status', async () => {
  project.write({
    'test/mixed.test.ts': testFile(
      "test('a', () => {})\ntest('b', () => {})\ntest('c', () => expect(1).toBe(2))\ntest.skip('d', () => {})",
    ),
  })

  expect(await run()).toMatchObject({ status: 1, lastLine: '2 passed, 1 failed, 1 skipped' })
})

test('a file that does not load, a failing hook and an unhandled error count as failures', async () => {
  project.write({
    'test/broken.test.ts': "import './missing.ts'\n",
    'test/hook.test.ts': testFile(
      "describe('s', () => {\n  beforeAll(() => { throw new Error('x') })\n  test('a', () => {})\n})\n",
    ),
    'test/unhandled.test.ts': testFile("test('a', () => { void Promise.reject(new Error('late')) })"),
  })

  expect(await run()).toMatchObject({ status: 1, lastLine: '1 passed, 3 failed, 1 skipped' })
})

test('a good run says so and exits with 0', async () => {
  project.write({ 'test/good.test.ts': testFile("test('a', () => {})") })

  expect(await run()).toMatchObject({ status: 0, lastLine: '1 passed, 0 failed' })
})

test('a run in which no test ran has failed', async () => {
  project.write({ 'test/empty.test.ts': testFile('') })

  expect((await run()).status).toBe(1)
})

test('a test that fails once has failed, in CI too', async () => {
  const onceBad = testFile(
    "let first = true\ntest('a', () => { const bad = first; first = false; expect(bad).toBe(false) })",
  )
  project.write({
    'test/daemon/busy.test.ts': `import 'node:child_process'\n${onceBad}`,
    'test/core/rule.test.ts': onceBad,
  })

  expect(await run({ CI: 'true' })).toMatchObject({ status: 1, lastLine: '0 passed, 2 failed' })
})

test('a file that waits, by itself or through a helper, is not among the quick ones', async () => {
  project.write({
    'test/support/process.ts': "import { spawn } from 'node:child_process'\nexport const start = spawn\n",
    'test/pure.test.ts': testFile("test('a', () => {})"),
    'test/direct.test.ts': testFile("import { spawn } from 'node:child_process'\ntest('b', () => void spawn)"),
    'test/helped.test.ts': testFile("import { start } from './support/process.ts'\ntest('c', () => void start)"),
  })

  const { stdout } = await run()
  const quick = await run({}, ['--project', 'quick'])

  expect(stdout).toMatch(/waiting.* test\/direct\.test\.ts/)
  expect(stdout).toMatch(/waiting.* test\/helped\.test\.ts/)
  expect(stdout).toMatch(/quick.* test\/pure\.test\.ts/)
  expect(quick).toMatchObject({ status: 0, lastLine: '1 passed, 0 failed' })
})

test('a file that took over five times as long as usual is named, unless the whole run was that slow', async () => {
  const usual = (seconds: number) =>
    Array.from({ length: 11 }, (_, at) => `test/${at}.test.ts ${seconds}\n`).join('') + 'test/slow.test.ts 0.1\n'
  for (let at = 0; at < 11; at++) project.write({ [`test/${at}.test.ts`]: testFile("test('a', () => {})") })
  const sleep = "test('slow', () => new Promise((resolve) => setTimeout(resolve, 2500)))"
  project.write({ 'test/slow.test.ts': testFile(sleep), 'test/usual-times.txt': usual(0.1) })

  const named = await run()
  project.write({ 'test/usual-times.txt': usual(0.00001) })
  const slowMachine = await run()
  await run({ USUAL_TIMES: 'write' })

  expect(named.stdout).toMatch(/^unusually slow: test\/slow\.test\.ts took 2\.\d s, expected 0\.1 s$/m)
  expect(named).toMatchObject({ status: 0, lastLine: '12 passed, 0 failed' })
  expect(slowMachine.stdout).not.toContain('unusually slow')
  expect(readFileSync(join(project.folder, 'test/usual-times.txt'), 'utf8')).toMatch(/^test\/slow\.test\.ts 2\.\d+$/m)
})
