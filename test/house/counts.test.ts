import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createProject, type Project, runNode } from '../support/project.ts'

let project: Project

beforeEach(() => {
  project = createProject({
    copies: ['scripts', 'vitest.config.mjs', 'test/support/lit.ts', 'test/support/spare-time.ts'],
  })
  project.borrowPackages()
  project.write({ 'package.json': '{ "name": "counted", "type": "module" }' })
})
afterEach(() => project.remove())

async function run(
  more: Record<string, string> = {},
): Promise<{ status: number | null; stdout: string; lastLine: string | undefined }> {
  const outer = Object.entries(process.env).filter(([name]) => !/^(VITEST|VITE_|TEST$|NODE_ENV$)/.test(name))
  const vitest = runNode(project.folder, ['node_modules/vitest/vitest.mjs', 'run'], {
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

/** What an expression of this project's scripts is worth. */
async function evaluated(file: string, expression: string): Promise<unknown> {
  const program = `const script = await import('./scripts/${file}'); console.log(JSON.stringify(${expression}))`
  const { ended } = runNode(project.folder, ['--input-type=module', '-e', program])
  return JSON.parse((await ended).stdout)
}

test('files that wait, by themselves or through a helper, have leases, or mock are not among the quick ones', async () => {
  project.write({
    'test/support/process.ts': "import { spawn } from 'node:child_process'\nexport const start = spawn\n",
    'test/pure.test.ts': testFile("test('a', () => {})"),
    'test/direct.test.ts': testFile("import { spawn } from 'node:child_process'\ntest('b', () => void spawn)"),
    'test/helped.test.ts': testFile("import { start } from './support/process.ts'\ntest('c', () => void start)"),
    'test/cluster/leases.test.ts': testFile("import { a } from './members.ts'\ntest('e', () => void a)"),
    'test/mocking.test.ts': testFile("vi.mock('node:zlib')\ntest('d', () => {})"),
  })

  expect(await evaluated('test-rooms.mjs', 'script.testRooms()')).toEqual({
    quick: ['test/pure.test.ts'],
    waiting: ['test/direct.test.ts', 'test/helped.test.ts'],
    timed: ['test/cluster/leases.test.ts'],
    mocking: ['test/mocking.test.ts'],
  })
})

test('a file that took over five times as long as usual is named, unless the whole run was that slow', async () => {
  const names = Array.from({ length: 11 }, (_, at) => `test/${at}.test.ts`)
  const unusual = (fast: number, slow: number) => {
    const usual = JSON.stringify([...names.map((name) => [name, 1]), ['test/slow.test.ts', 1]])
    const took = JSON.stringify([...names.map((name) => [name, fast]), ['test/slow.test.ts', slow]])
    return evaluated('usual-times.mjs', `script.unusualTimes(new Map(${took}), new Map(${usual}))`)
  }

  expect(await unusual(1, 6)).toEqual(['unusually slow: test/slow.test.ts took 6.0 s, expected 1.0 s'])
  expect(await unusual(3, 6)).toEqual([])
  expect(await unusual(0.1, 4.9)).toEqual([])
})

test('a good run says so and exits with 0; what files take is written on request, sorted, and compared by later runs', async () => {
  const usual = Array.from({ length: 10 }, (_, at) => `test/${at}.test.ts`)
  for (const file of usual) project.write({ [file]: testFile("test('a', () => {})") })
  const sleep = "test('slow', () => new Promise((resolve) => setTimeout(resolve, 2500)))"
  const table = join(project.folder, 'test/usual-times.txt')
  project.write({ 'test/slow.test.ts': testFile(sleep), 'test/usual-times.txt': 'test/gone.test.ts 1\n' })

  const good = await run({ USUAL_TIMES: 'write' })
  const written = readFileSync(table, 'utf8')
  writeFileSync(table, written.replace(/slow\.test\.ts .*/, 'slow.test.ts 0.01'))
  const { stdout } = await run({ USUAL_TIMES: '' })

  expect(good).toMatchObject({ status: 0, lastLine: '11 passed, 0 failed' })
  expect(written.split('\n').map((row) => row.replace(/ .*/, ''))).toEqual([...usual, 'test/slow.test.ts', ''])
  expect(written).toMatch(/^test\/slow\.test\.ts (?:2\.[5-9]|[3-9]|\d\d)/m)
  expect(stdout).toMatch(/^unusually slow: test\/slow\.test\.ts took \d+\.\d s/m)
})

test('a test waits if its helpers do, also through helpers that import each other', async () => {
  project.write({
    'test/first.test.ts': testFile("import { x } from './x.ts'"),
    'test/second.test.ts': testFile("import { y } from './y.ts'"),
    'test/third.test.ts': testFile(''),
    'test/x.ts': "import { y } from './y.ts'\nimport { z } from './z.ts'\n",
    'test/y.ts': "import { x } from './x.ts'\n",
    'test/z.ts': "import { spawn } from 'node:child_process'\n",
    'rooms.mjs': "import { testRooms } from './scripts/test-rooms.mjs'\nconsole.log(JSON.stringify(testRooms()))\n",
  })

  const { stdout } = await runNode(project.folder, ['rooms.mjs']).ended

  expect(JSON.parse(stdout)).toMatchObject({
    quick: ['test/third.test.ts'],
    waiting: ['test/first.test.ts', 'test/second.test.ts'],
  })
})
