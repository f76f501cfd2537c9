import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../support/project.ts'

interface LockEntry {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly inBundle?: boolean
  readonly optionalDependencies?: Record<string, string>
}

const { devDependencies: ofTests }: { devDependencies: Record<string, string> } = JSON.parse(
  readFileSync(join(checkout, 'test/packages/package.json'), 'utf8'),
)
const lock: { packages: Record<string, LockEntry> } = JSON.parse(
  readFileSync(join(checkout, 'package-lock.json'), 'utf8'),
)

// npm drops what another system needs when it writes the file over an existing node_modules, and then `npm ci` refuses it.
test('the lock file holds the binaries of every system, not only those of the machine that wrote it', () => {
  const names = new Set(Object.keys(lock.packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13)))

  const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !names.has(name))
      .map((name) => `${path} wants ${name}`),
  )

  expect(missing).toEqual([])
})

// npm writes no digest for binaries of other systems when it writes the file over an existing node_modules. The digest of a package
// is also that of the packages in its bundle.
test('every package is pinned to a digest, also the binaries of other systems', () => {
  const packages = Object.entries(lock.packages).filter(
    ([path, { version, inBundle }]) => path !== '' && version !== undefined && inBundle !== true,
  )

  expect(packages.length).toBeGreaterThan(500)
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
})

test('the lock file names no registry, so that a mirror serves as well', () => {
  const named = Object.entries(lock.packages).filter(([, { resolved }]) => resolved?.startsWith('http'))

  expect(named.map(([path]) => path)).toEqual([])
})

test('every package that only tests need is used: imported, run or loaded by one that is', () => {
  const texts = execFileSync('git', ['ls-files', '*.ts', '*.mjs', 'package.json'], { cwd: checkout, encoding: 'utf8' })
    .trimEnd()
    .split('\n')
    .filter((file) => /^(?:test|bench|grafana|scripts)\/|^[^/]+$/.test(file))
    .map((file) => readFileSync(join(checkout, file), 'utf8'))
  // Types are used with the package that they describe.
  const described = (name: string) => name.replace('@types/', '')
  const isUsed = (name: string) =>
    texts.some((text) => text.includes(`'${described(name)}`) || text.includes(`"${described(name)}`))
  const loadedByOthers = ['@lezer/lr', 'oxlint-tsgolint', 'knip', 'tsx']

  const unused = Object.keys(ofTests).filter((name) => !isUsed(name) && !loadedByOthers.includes(name))

  expect(unused).toEqual([])
})
