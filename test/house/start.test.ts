import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { checkout, createProject, offlinePackage, type Project, runNode } from '../support/project.ts'

const WAITING_MAIN = `
process.on('SIGTERM', () => process.exit(75))
setInterval(() => undefined, 1000)
console.log('args: ' + process.argv.slice(2).join(' '))
`

let installed: Project
let project: Project

beforeAll(async () => {
  installed = createProject({ copies: ['scripts', '.npmrc', 'tsconfig.json', 'web/tsconfig.json'] })
  installed.write({
    ...offlinePackage({ part: '1.0.0' }),
    'src/main.ts': WAITING_MAIN,
    'web/app.ts': 'export const page: string = document.title\n',
    'web/views/overview.ts': "export const view = 'first'\n",
  })
  await runNode(installed.folder, ['scripts/prepare.mjs']).ended
  for (const name of ['typescript', '@types/node', 'esbuild']) {
    const link = join(installed.folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(checkout, 'node_modules', name), link)
  }
})
afterAll(() => installed.remove())
beforeEach(() => {
  project = createProject({ copies: [] })
  cpSync(installed.folder, project.folder, { recursive: true, verbatimSymlinks: true })
})
afterEach(() => project.remove())

const start = (...args: string[]) => runNode(project.folder, ['scripts/start.mjs', ...args])
const build = () => runNode(project.folder, ['scripts/build.mjs']).ended
const exists = (file: string) => existsSync(join(project.folder, file))

function npmCli(): string {
  const folder = (process.env.PATH ?? '').split(delimiter).find((path) => existsSync(join(path, 'npm')))
  if (folder === undefined) throw new Error('npm is not on the PATH')
  return realpathSync(join(folder, 'npm'))
}

test('start builds, hands the arguments on, and a signal and the exit status are those of the command', async () => {
  const run = start('serve', '-c', 'file.yaml')
  await run.says('args: serve -c file.yaml')

  process.kill(run.pid, 'SIGTERM')

  const { status, stdout } = await run.ended
  expect(status).toBe(75)
  expect(stdout).toBe('args: serve -c file.yaml\n')
})

test('a signal to npm itself reaches the command, and nothing of ours is left running', async () => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const packageFile = join(project.folder, 'package.json')
  writeFileSync(packageFile, JSON.stringify({ ...JSON.parse(readFileSync(packageFile, 'utf8')), scripts }))
  project.write({ 'src/main.ts': `${WAITING_MAIN}console.log('pid: ' + process.pid + '.')\n` })
  const run = runNode(project.folder, [npmCli(), 'start', '--', 'serve'])
  const [, pid = ''] = /pid: (\d+)\./.exec(await run.says('pid: ')) ?? []

  process.kill(run.pid, 'SIGTERM')
  const { status } = await run.ended

  expect(status).toBe(75)
  expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
})

test('what does not compile does not start, and says where', async () => {
  project.write({ 'src/main.ts': "import './missing.ts'\nconsole.log('started')\n" })

  const { status, stdout, stderr } = await start().ended

  expect(status).toBe(1)
  expect(stdout + stderr).toContain('src/main.ts')
  expect(stdout).not.toContain('started')
})

test('a build with a wrong type fails, and says where', async () => {
  project.write({ 'src/main.ts': "export const wrong: number = 'text'\n" })

  const { status, stdout, stderr } = await build()

  expect(status).toBe(1)
  expect(stdout + stderr).toContain('src/main.ts')
})

test('a start needs no compiler of types', async () => {
  for (const name of ['typescript', '@types/node']) rmSync(join(project.folder, 'node_modules', name))
  project.write({ 'src/main.ts': "const text: string = 'started'\nconsole.log(text)\n" })

  expect(await start().ended).toMatchObject({ status: 0, stdout: 'started\n' })
  const { status, stderr } = await build()
  expect([status, stderr]).toEqual([1, expect.stringContaining('run `npm ci` first')])
})

test('a build leaves nothing behind of a source file that is gone', async () => {
  project.write({ 'src/old.ts': 'export const old = 1\n' })
  await build()
  expect(exists('dist/modules/src/old.js')).toBe(true)
  rmSync(join(project.folder, 'src/old.ts'))

  const { status } = await build()

  expect(status).toBe(0)
  expect(['old.js', 'old.d.ts', 'old.js.map'].map((file) => `dist/modules/src/${file}`).filter(exists)).toEqual([])
  expect(
    ['dist/src/main.js', 'dist/modules/src/main.js', 'dist/modules/web/app.js'].filter((file) => !exists(file)),
  ).toEqual([])
})

test('deleted outputs are built again, although the compiler considers itself up to date', async () => {
  await build()
  for (const outputs of ['dist/modules/src', 'dist/src']) rmSync(join(project.folder, outputs), { recursive: true })

  const { status } = await build()

  expect(status).toBe(0)
  expect(exists('dist/modules/src/main.js')).toBe(true)
  expect(exists('dist/src/main.js')).toBe(true)
})
