import { afterEach, beforeEach, expect, test } from 'vitest'
import { createProject, type Project, runNode } from '../support/project.ts'

let project: Project

beforeEach(() => {
  project = createProject({ copies: ['scripts', 'vitest.config.ts', 'test/support/lit.ts'] })
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
  const { status, stdout } = await vitest.ended
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

test('over real parts a failure in CI is tried once more and named; a rule is not', async () => {
  const onceBad = testFile(
    "let first = true\ntest('a', () => { const bad = first; first = false; expect(bad).toBe(false) })",
  )
  project.write({ 'test/daemon/busy.test.ts': onceBad, 'test/core/rule.test.ts': onceBad })

  const { status, stdout, lastLine } = await run({ CI: 'true' })

  expect({ status, lastLine }).toEqual({ status: 1, lastLine: '1 passed, 1 failed' })
  expect(stdout).toContain('needed a second try: test/daemon/busy.test.ts > a')
  expect(await run({ CI: '' })).toMatchObject({ status: 1, lastLine: '0 passed, 2 failed' })
})
