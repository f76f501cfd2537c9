import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeFolder, temporaryFolder, until } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

const PATIENCE_MS = 110_000
let folder: string
let packed: Packed
let paths: readonly string[]

/** The tarball as `npm pack` makes it, laid out as `npm install` does in an empty folder: with the declared dependencies alone. */
beforeAll(() => {
  folder = temporaryFolder()
  // The part of `prepack` that `--ignore-scripts` leaves out; the build is made before the tests.
  execFileSync('npm', ['run', '--silent', 'sbom', '--', 'sbom.cdx.json'], { cwd: checkout, stdio: 'pipe' })
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [first] = JSON.parse(execFileSync('npm', pack, { cwd: checkout, encoding: 'utf8', stdio: 'pipe' })) as Packed[]
  packed = first!
  paths = packed.files.map(({ path }) => path)
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'heartline'), { recursive: true })
  mkdirSync(join(modules, '.bin'))
  const tarball = join(folder, packed.filename)
  execFileSync('tar', ['-xzf', tarball, '-C', join(modules, 'heartline'), '--strip-components=1'])
  const { dependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(checkout, 'node_modules', name), join(modules, name))
  }
  // As npm does it.
  chmodSync(join(modules, 'heartline/dist/src/main.js'), 0o755)
  symlinkSync('../heartline/dist/src/main.js', join(modules, '.bin/heartline'))
}, PATIENCE_MS)
afterAll(() => removeFolder(folder))

const filesUnder = (room: string): string[] =>
  readdirSync(join(checkout, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length + 1))

function heartline(...args: string[]): string {
  const env = { ...process.env, HEARTLINE_CONFIG: '' }
  return execFileSync('node_modules/.bin/heartline', args, { cwd: folder, encoding: 'utf8', env })
}

test('the package holds every program, asset and migration that it runs by', () => {
  const assets = filesUnder('dist/page').filter((file) => /\.(css|svg|js)(\.gz|\.br)?$/.test(file))

  const programs = ['main', 'integrity-process', 'reader-worker', 'writer-worker'].map((name) => `dist/src/${name}.js`)
  const built = [...filesUnder('dist/src'), ...filesUnder('dist/page')].filter((file) => !file.endsWith('.map'))

  expect(assets.length).toBeGreaterThan(30)
  for (const file of [...programs, ...assets, ...built, ...filesUnder('migrations')]) expect(paths).toContain(file)
})

test('the package holds what its reader needs, and nothing of how it is made', () => {
  const wanted = ['README.md', 'CHANGELOG.md', 'LICENSE', 'heartline.example.yaml', 'docs/operations.md']
  const unwanted =
    /^(test|src|dist\/modules|bench\/.*\.ts|node_modules)|\.(map|db|log|tsbuildinfo)$|\.d\.ts$|(^|\/)tsconfig/

  for (const file of [...wanted, 'packaging/heartline.service', 'scripts/object-wrap.h']) expect(paths).toContain(file)
  for (const file of filesUnder('grafana').filter((one) => !one.endsWith('.ts'))) expect(paths).toContain(file)
  expect(paths.filter((file) => unwanted.test(file) || (file.endsWith('.ts') && !file.startsWith('docs/')))).toEqual([])
})

test('every file that a page of the package links to is in the package', () => {
  const links = paths
    .filter((path) => path.endsWith('.md'))
    .flatMap((page) =>
      [...readFileSync(join(checkout, page), 'utf8').matchAll(/\]\(([^)#: ]+)(?:#[^)]*)?\)/g)].map(([, link]) => ({
        page,
        path: join(dirname(page), link!),
      })),
    )

  expect(links.length).toBeGreaterThan(100)
  expect(links.filter(({ path }) => !paths.some((one) => one === path || one.startsWith(path)))).toEqual([])
})

test('the installed package runs as `heartline` in an empty folder, by what it declares to need alone', () => {
  const file = join(folder, 'heartline.yaml')
  const endpoint = { name: 'own-1', url: 'http://127.0.0.1:8545' }
  writeFileSync(file, JSON.stringify({ networks: [{ name: 'ethereum', family: 'ethereum', endpoints: [endpoint] }] }))

  expect(heartline('--version')).toBe('0.1.0\n')
  expect(heartline('check-config', '-c', 'heartline.yaml')).toContain('valid, 1 network, 1 endpoint')
  expect(JSON.parse(heartline('schema'))).toHaveProperty('properties.networks')
  expect(execFileSync('npx', ['--no-install', 'heartline', '--version'], { cwd: folder, encoding: 'utf8' })).toContain(
    '0.1.0',
  )
})

test(
  'the installed package shows its page, keeps its history, and leaves when asked to',
  async () => {
    const child = spawn(process.execPath, ['node_modules/.bin/heartline', 'demo', '--port', '0'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))

    try {
      await until(() => /^http:\/\/\S+$/m.test(out), 'the address is printed', PATIENCE_MS)
      const url = out.trim().split('\n').at(-1)!
      await until(async () => (await fetch(`${url}-/ready`)).status === 200, 'it is ready', PATIENCE_MS)
      const page = await (await fetch(url)).text()
      const loaded = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, asset]) => asset!)

      expect(loaded.length).toBeGreaterThan(1)
      for (const asset of loaded) expect((await fetch(new URL(asset, url))).status, asset).toBe(200)
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toBe(0)
    expect(existsSync(join(folder, 'heartline.db'))).toBe(false)
  },
  2 * PATIENCE_MS,
)

test('the package holds the licence of every package in its program, each of which the bill of materials lists', () => {
  const program = join(folder, 'node_modules/heartline/dist/src')
  const texts = readdirSync(program).filter((file) => file.endsWith('.js'))
  const bundled = texts.flatMap((file) =>
    [
      ...readFileSync(join(program, file), 'utf8').matchAll(
        /^ *\/\/ node_modules\/(?:.*node_modules\/)?((?:@[^/]+\/)?[^/]+)\//gm,
      ),
    ].map(([, name]) => name),
  )
  const licenses = readFileSync(join(program, 'licenses.txt'), 'utf8').split(/^=== /m).slice(1)
  const bill = readFileSync(join(folder, 'node_modules/heartline/sbom.cdx.json'), 'utf8')

  const named = licenses.map((text) => /^(\S+) (\S+): \S+\n\n(?=\S)/.exec(text) ?? [])
  expect(bundled.length).toBeGreaterThan(100)
  expect(new Set(named.map(([, name]) => name))).toEqual(new Set(bundled))
  for (const [, name, version] of named) expect(bill).toContain(`"pkg:npm/${name?.replace('@', '%40')}@${version}"`)
})

test('the bill of materials lists every package that runs with Heartline, and no other', () => {
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { readonly version?: string; readonly dev?: boolean; readonly optional?: boolean }>
  }
  // Folders of workspaces have no version.
  const running = Object.entries(lock.packages).filter(
    ([path, { dev, version }]) => path !== '' && dev !== true && version !== undefined,
  )
  const required = running.filter(([, { optional }]) => optional !== true)
  const idOf = ([path, { version }]: (typeof running)[number]) =>
    `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`

  const bill = JSON.parse(readFileSync(join(folder, 'node_modules/heartline/sbom.cdx.json'), 'utf8')) as {
    bomFormat: string
    components: { group?: string; name: string; version: string }[]
  }

  const listed = new Set(bill.components.map(({ name, version }) => `${name}@${version}`))
  expect(bill.bomFormat).toBe('CycloneDX')
  expect(required.map(idOf).filter((id) => !listed.has(id))).toEqual([])
  expect([...listed].filter((id) => !running.map(idOf).includes(id))).toEqual([])
})
