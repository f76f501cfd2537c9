import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkout, createProject, type Ended, offlinePackage, type Project, runNode } from '../support/project.ts'

let installed: Project
let first: Ended
let project: Project

const prepare = (args: string[] = [], env: NodeJS.ProcessEnv = {}, of = project) =>
  runNode(of.folder, ['scripts/prepare.mjs', ...args], { ...process.env, ...env }).ended

beforeAll(async () => {
  installed = createProject({ copies: ['scripts', '.npmrc'] })
  installed.write(offlinePackage({ part: '1.0.0' }))
  first = await prepare([], {}, installed)
})
afterAll(() => installed.remove())
beforeEach(() => {
  project = createProject({ copies: ['scripts', '.npmrc'] })
  project.write(offlinePackage({ part: '1.0.0' }))
})
afterEach(() => project.remove())

/** Gives the project what `first` installed. */
const install = () =>
  cpSync(join(installed.folder, 'node_modules'), join(project.folder, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
  })

test('a fresh checkout gets its packages, with a word about how long it may take', () => {
  expect(first.status).toBe(0)
  expect(first.stderr).toContain('installing packages (npm ci)')
  expect(existsSync(join(installed.folder, 'node_modules/part/package.json'))).toBe(true)
})

test('where nothing is to do, nothing is said', async () => {
  install()

  const { status, stdout, stderr } = await prepare()

  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('a lock file that changed installs again', async () => {
  install()
  project.write(offlinePackage({ part: '1.0.1' }))

  const { stderr } = await prepare()

  expect(stderr).toContain('packages installed in')
})

test('what only tests need is installed for tests, and kept at the next start', async () => {
  project.write(offlinePackage({ part: '1.0.0', ofTests: true }))
  const hasPart = () => existsSync(join(project.folder, 'node_modules/tested/package.json'))
  await prepare()
  const hadPart = hasPart()

  await prepare(['--for-tests'])
  const { stderr } = await prepare()

  expect([hadPart, hasPart()]).toEqual([false, true])
  expect(stderr).toBe('')
})

test('what another Node installed is installed again, as native modules do not load in both', async () => {
  install()
  const stamp = join(project.folder, 'node_modules/.heartline-installed')
  const foreign = readFileSync(stamp, 'utf8').replace(`abi-${process.versions.modules}`, 'abi-1')
  writeFileSync(stamp, foreign)

  const { stderr } = await prepare()

  expect(stderr).toContain('packages installed in')
  expect(readFileSync(stamp, 'utf8')).not.toBe(foreign)
})

test('an installation that fails says what npm said and what may be needed, and is tried again next time', async () => {
  const { 'package-lock.json': lock = '' } = offlinePackage({ part: '1.0.0' })
  project.write({ 'package-lock.json': lock.replaceAll('"part"', '"another-part"') })

  const { status, stderr } = await prepare()

  expect(status).toBe(1)
  expect(stderr).toContain('installing failed')
  expect(existsSync(join(project.folder, 'node_modules/.heartline-installed'))).toBe(false)
})

test.each([
  ['start', []],
  ['test', ['--for-tests']],
])('npm %s runs the install scripts of packages that `allowScripts` allows, and no others', async (_command, args) => {
  const names = ['named', 'refused', 'unnamed']
  for (const name of names) {
    const install = `node -e "require('fs').writeFileSync(require('path').join(process.env.INIT_CWD, '${name}.ran'), '')"`
    const manifest = { name, version: '1.0.0', scripts: { preinstall: install, install, postinstall: install } }
    project.write({ [`${name}/package/package.json`]: JSON.stringify(manifest) })
    // A tarball, as a registry has it: of linked folders npm may run other scripts.
    execFileSync('tar', ['-czf', `${name}.tgz`, '-C', name, 'package'], { cwd: project.folder })
  }
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:${name}.tgz`]))
  const entries = names.map((name) => [
    `node_modules/${name}`,
    { version: '1.0.0', resolved: `file:${name}.tgz`, hasInstallScript: true },
  ])
  const whole = { name: 'whole', version: '1.0.0', dependencies }
  project.write({
    'package.json': JSON.stringify({ ...whole, type: 'module', allowScripts: { named: true, refused: false } }),
    'package-lock.json': JSON.stringify({
      ...whole,
      lockfileVersion: 3,
      packages: { '': whole, ...Object.fromEntries(entries) },
    }),
  })

  const { status, stderr } = await prepare(args)

  expect(status, stderr).toBe(0)
  expect(names.map((name) => existsSync(join(project.folder, 'node_modules', name)))).toEqual([true, true, true])
  expect(names.filter((name) => existsSync(join(project.folder, `${name}.ran`)))).toEqual(['named'])
})

describe('with all packages', () => {
  let ready: Project
  beforeAll(async () => {
    ready = createProject({ copies: ['scripts', '.npmrc'] })
    ready.write(offlinePackage({ part: '1.0.0' }))
    await prepare(['--for-tests'], {}, ready)
  })
  afterAll(() => ready.remove())

  test('where Debian packages cannot be installed, each missing command is one loud line', async () => {
    const { status, stderr } = await prepare(['--for-tests'], { PATH: '/nowhere', CI: '' }, ready)

    const lines = stderr.trimEnd().split('\n')
    expect(status).toBe(0)
    const needed = readFileSync(join(checkout, 'scripts/system.mjs'), 'utf8').matchAll(/\{ command: '([\w-]+)'/g)
    const missing = lines.map((line) => / !!! (\S+) is missing/.exec(line)?.[1])
    // Those of PostgreSQL are found off the PATH, too.
    const onPath = (name: string | undefined) => name !== 'initdb'
    expect(missing.filter(onPath)).toEqual([...needed].map(([, name]) => name).filter(onPath))
    expect(lines[0]).toBe(
      'heartline: !!! promtool is missing: its tests will be SKIPPED. As root: apt-get install prometheus',
    )
  })

  test('under CI=true the missing command is announced as a failure', async () => {
    const { stderr } = await prepare(['--for-tests'], { PATH: '/nowhere', CI: 'true' }, ready)

    expect(stderr).toContain('chromium-headless-shell is missing: its tests will FAIL')
  })
})
