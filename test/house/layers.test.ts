import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkout, createProject, type Project, runNode } from '../support/project.ts'

/** Single files that every room above core and chains may use. */
const SMALL = ['clock', 'log', 'secret', 'version']

const POLLING = ['core', 'chains', 'state', 'store', 'metrics', 'nodes', 'poll']
const BELOW_DAEMON = [...POLLING, 'cluster', 'config', 'gateway', 'notify', 'http', ...SMALL]

/** Which room may import which, besides itself: the table of docs/architecture.md, enforced by .oxlintrc.json. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  chains: ['core'],
  state: ['core', ...SMALL],
  simulator: ['core', ...SMALL],
  config: ['core', ...SMALL],
  store: ['core', 'state', ...SMALL],
  cluster: ['core', 'state', 'store', ...SMALL],
  metrics: ['core', 'state', ...SMALL],
  nodes: ['core', 'chains', ...SMALL],
  poll: ['core', 'state', 'store', 'nodes', ...SMALL],
  gateway: ['core', 'state', 'nodes', ...SMALL],
  notify: ['core', 'state', 'store', 'nodes', ...SMALL],
  http: ['core', 'state', 'store', 'metrics', 'gateway', 'notify', ...SMALL],
  limits: [],
  targets: ['core', 'config', 'nodes', ...SMALL],
  daemon: [...BELOW_DAEMON, 'limits', 'targets'],
  commands: [...BELOW_DAEMON, 'simulator', 'limits', 'targets', 'daemon'],
  main: ['commands', ...SMALL],
  clock: ['core', 'log', 'secret', 'version'],
  log: ['core', 'clock', 'secret', 'version'],
  secret: ['core', 'clock', 'log', 'version'],
  version: ['core', 'clock', 'log', 'secret'],
}
/** Imports of types alone. */
const MAY_IMPORT_TYPES: Record<string, readonly string[]> = { metrics: ['store', 'notify'], notify: ['config'] }
/** Rooms inside a room: files directly in the outer room are shared by all of it. */
const MAY_IMPORT_WITHIN: Record<string, Record<string, readonly string[]>> = {
  core: {
    chain: [],
    observer: [],
    verdict: ['chain'],
    incident: ['verdict'],
    routing: ['verdict'],
    cluster: ['chain', 'verdict'],
  },
  gateway: { request: [], failover: [], cache: [] },
  store: { sqlite: [], postgres: [] },
  http: {
    wire: [],
    status: ['wire'],
    history: ['wire'],
    incidents: ['wire'],
    page: ['wire', 'status', 'history', 'incidents'],
  },
}

const ROOMS = Object.keys(MAY_IMPORT)
const FILES = ['limits', 'targets', 'main', 'clock', 'log', 'secret', 'version']

interface Finding {
  readonly code: string
  readonly message: string
  readonly filename: string
  readonly labels: readonly { readonly span: { readonly line: number } }[]
}

let project: Project

beforeAll(() => {
  project = createProject({ copies: ['.oxlintrc.json', 'tsconfig.json', 'web/tsconfig.json', 'package.json'] })
  project.borrowPackages()
})
afterAll(() => project.remove())

async function lint(...args: string[]): Promise<Finding[]> {
  const oxlint = join(project.folder, 'node_modules/oxlint/bin/oxlint')
  const { stdout } = await runNode(project.folder, [oxlint, '-f', 'json', ...args]).ended
  const report: { diagnostics: Finding[] } = JSON.parse(stdout)
  return report.diagnostics.toSorted((a, b) => lineOf(a) - lineOf(b))
}

const lineOf = (finding: Finding) => finding.labels[0]?.span.line ?? 0

const home = (room: string) => (FILES.includes(room) ? `src/${room}.ts` : `src/${room}/it.ts`)

function specifier(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** Which rooms the linter lets each room import: found by trying every pair. */
async function allowedBy(kind: 'import' | 'import type' | 'await import'): Promise<Record<string, string[]>> {
  const targets = (room: string) => ROOMS.filter((target) => target !== room)
  for (const room of ROOMS) {
    const lines = targets(room).map((target) => {
      const path = specifier(home(room), home(target))
      return kind === 'await import' ? `await import('${path}')` : `${kind} { ${target} } from '${path}'`
    })
    project.write({ [home(room)]: `${lines.join('\n')}\n` })
  }
  const findings = (await lint('src')).filter(({ code }) => code === 'eslint(no-restricted-imports)')
  return Object.fromEntries(
    ROOMS.map((room) => {
      const refused = findings.filter(({ filename }) => filename === home(room)).map(lineOf)
      return [room, targets(room).filter((_, index) => !refused.includes(index + 1))]
    }),
  )
}

const sorted = (table: Record<string, readonly string[]>) =>
  Object.fromEntries(Object.entries(table).map(([room, rooms]) => [room, rooms.toSorted()]))

const withTypes = (room: string) => [...(MAY_IMPORT[room] ?? []), ...(MAY_IMPORT_TYPES[room] ?? [])]

test('the linter refuses every import that the layers forbid, and no other', async () => {
  const allowed = await allowedBy('import')

  expect(sorted(allowed)).toEqual(sorted(MAY_IMPORT))
})

test('importing only a type obeys the same layers', async () => {
  const allowed = await allowedBy('import type')

  expect(sorted(allowed)).toEqual(sorted(Object.fromEntries(ROOMS.map((room) => [room, withTypes(room)]))))
})

test('a dynamic import does not get around the layers', async () => {
  const allowed = await allowedBy('await import')

  expect(sorted(allowed)).toEqual(sorted(MAY_IMPORT))
})

test.each(Object.entries(MAY_IMPORT_WITHIN))(
  'the rooms of %s import each other in one direction',
  async (room, table) => {
    const inner = Object.keys(table)
    for (const from of inner) {
      const lines = inner.filter((to) => to !== from).map((to) => `import { ${to} } from '../${to}/it.ts'`)
      project.write({
        [`src/${room}/${from}/it.ts`]: `import { shared } from '../shared.ts'\n${lines.join('\n')}\n`,
      })
    }

    const refused = (await lint(`src/${room}`)).filter(({ code }) => code === 'eslint(no-restricted-imports)')

    for (const from of inner) {
      const others = inner.filter((to) => to !== from)
      const lines = refused.filter(({ filename }) => filename === `src/${room}/${from}/it.ts`).map(lineOf)
      const allowed = others.filter((_, index) => !lines.includes(index + 2))
      expect([from, lines.includes(1), allowed.toSorted()]).toEqual([from, false, (table[from] ?? []).toSorted()])
    }
  },
)

test('a room of the gateway may not import what puts the gateway together', async () => {
  project.write({
    'src/gateway/request/bad.ts': "import '../gateway.ts'\nimport '../service.ts'\nimport '../errors.ts'\n",
  })

  const refused = (await lint('src/gateway/request/bad.ts')).filter(
    ({ code }) => code === 'eslint(no-restricted-imports)',
  )

  expect(refused.map(lineOf)).toEqual([1, 2])
})

test('a function of more than 150 lines is refused in src, and allowed in tests', async () => {
  const lines = (count: number) => `export function long(): void {\n${'  void 0\n'.repeat(count - 2)}}\n`
  project.write({ 'src/poll/long.ts': lines(151), 'src/poll/fine.ts': lines(150), 'test/long.ts': lines(151) })

  const refused = (await lint('src/poll/long.ts', 'src/poll/fine.ts', 'test/long.ts')).filter(({ code }) =>
    code.includes('max-lines-per-function'),
  )

  expect(refused.map(({ filename }) => filename)).toEqual(['src/poll/long.ts'])
})

test('core may import neither a package nor a part of Node', async () => {
  project.write({ 'src/core/impure.ts': "import 'zod'\nimport 'node:fs'\nimport 'fs'\nimport './time.ts'\n" })

  const refused = (await lint('src/core/impure.ts')).filter(({ code }) => code === 'eslint(no-restricted-imports)')

  expect(refused.map(lineOf)).toEqual([1, 2, 3])
})

test('the page may import types of the wire shapes, and nothing else of the daemon', async () => {
  project.write({
    'web/bad.ts':
      "import type { A } from '../src/http/wire/status.ts'\nimport { b } from '../src/http/wire/status.ts'\nimport type { C } from '../src/core/it.ts'\n",
  })

  const refused = (await lint('web')).filter(({ code }) => code === 'eslint(no-restricted-imports)')

  expect(refused.map(lineOf)).toEqual([2, 3])
})

test('a view may import views and types of the wire shapes, and nothing that only the daemon or only the browser has', async () => {
  project.write({
    'web/views/fine.ts':
      "import { bad } from './bad.ts'\nimport type { A } from '../../src/http/wire/status.ts'\nexport const a: A = bad\n",
    'web/views/bad.ts': [
      "import { a } from '../../src/http/wire/status.ts'",
      "import type { B } from '../../src/core/it.ts'",
      "import '../app.ts'",
      "import 'node:fs'",
      'export const bad = () => [document, fetch, a] as unknown as B',
    ].join('\n'),
  })

  const findings = await lint('web/views/fine.ts', 'web/views/bad.ts')

  const refused = findings.filter(({ code }) => /no-restricted-(imports|globals)/.test(code))
  expect(refused.map(({ filename, labels }) => `${filename}:${labels[0]?.span.line}`)).toEqual(
    [1, 2, 3, 4, 5, 5].map((line) => `web/views/bad.ts:${line}`),
  )
})

test('a folder of views may import those beside the folders, charts and types of the wire shapes, and no other folder', async () => {
  project.write({
    'web/views/network/fine.ts':
      "import './it.ts'\nimport '../it.ts'\nimport '../charts/it.ts'\nimport type { A } from '../../../src/http/wire/status.ts'\n",
    'web/views/network/bad.ts': [
      "import '../endpoint/it.ts'",
      "import { a } from '../../../src/http/wire/status.ts'",
      "import type { B } from '../../../src/core/it.ts'",
      "import '../../app.ts'",
      "import 'node:fs'",
    ].join('\n'),
    'web/views/charts/bad.ts': "import '../network/it.ts'\n",
  })

  const findings = await lint('web/views/network', 'web/views/charts')

  const refused = findings.filter(({ code }) => code === 'eslint(no-restricted-imports)')
  expect(refused.map(({ filename, labels }) => `${filename}:${labels[0]?.span.line}`).toSorted()).toEqual([
    'web/views/charts/bad.ts:1',
    ...[1, 2, 3, 4, 5].map((line) => `web/views/network/bad.ts:${line}`),
  ])
})

test('the linter finds a cycle, also one of types alone', async () => {
  project.write({
    'src/poll/a.ts': "import { b } from './b.ts'\nexport const a = () => b\n",
    'src/poll/b.ts': "import { a } from './a.ts'\nexport const b = () => a\n",
    'src/state/c.ts': "import type { D } from './d.ts'\nexport interface C { d: D }\n",
    'src/state/d.ts': "import type { C } from './c.ts'\nexport interface D { c: C }\n",
  })

  const findings = (await lint('src/poll', 'src/state')).filter(({ code }) => code === 'import(no-cycle)')

  const files = ['src/poll/a.ts', 'src/poll/b.ts', 'src/state/c.ts', 'src/state/d.ts']
  expect(findings.map((finding) => finding.filename).toSorted()).toEqual(files)
})

test('time, randomness, fetch and the console are refused outside their homes', async () => {
  const uses =
    'export const uses = () => [\n  Date.now(),\n  performance.now(),\n  Math.random(),\n  setTimeout,\n  globalThis.setInterval,\n  fetch,\n  console,\n  console.log,\n]\n'
  project.write({ 'src/poll/bad.ts': uses, 'src/clock.ts': uses, 'test/fine.ts': uses })

  const findings = await lint('src/poll/bad.ts', 'src/clock.ts', 'test/fine.ts')

  const linesIn = (file: string) =>
    findings
      .filter((f) => f.filename === file)
      .map((f) => f.labels[0]?.span.line ?? 0)
      .toSorted((a, b) => a - b)
  expect(linesIn('src/poll/bad.ts')).toEqual([2, 3, 4, 5, 6, 7, 9])
  expect(linesIn('src/clock.ts')).toEqual([9])
  expect(linesIn('test/fine.ts')).toEqual([])
})

test('the type-aware rules see a forgotten promise, a missing case, and an unawaited callback', async () => {
  project.write({
    'src/poll/typed.ts': [
      "type Kind = 'a' | 'b'",
      'async function later(): Promise<number> {',
      '  return 1',
      '}',
      'export function forgets(): void {',
      '  later()',
      '}',
      'export function misses(kind: Kind): number {',
      '  let result = 0',
      '  switch (kind) {',
      "    case 'a':",
      '      result = 1',
      '  }',
      '  return result',
      '}',
      'export function misuses(list: number[]): void {',
      '  list.forEach(async () => {',
      '    await later()',
      '  })',
      '}',
    ].join('\n'),
  })

  const codes = (await lint('--type-aware', 'src/poll/typed.ts')).map(({ code }) => code)

  expect(codes).toContain('typescript(no-floating-promises)')
  expect(codes).toContain('typescript(switch-exhaustiveness-check)')
  expect(codes).toContain('typescript(no-misused-promises)')
})

test('every import in src keeps to the layers, also those inside a type, which the linter does not see', () => {
  const sources = readdirSync(join(checkout, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )

  const forbidden = sources.flatMap((file) => {
    const text = readFileSync(join(checkout, 'src', file), 'utf8')
    return [...text.matchAll(/(?:\bfrom|\bimport\(|\bimport)\s*'(\.[^']+)'/g)].flatMap(([, path = '']) => {
      const [from, to] = [roomOf(file), roomOf(join(dirname(file), path))]
      // What draws the page for the browser draws its first paint too.
      if (from === 'http' && /^(?:\.\.\/){2,3}web\/views\//.test(path)) return []
      return from === to || withTypes(from).includes(to) ? [] : [`src/${file} imports ${to}`]
    })
  })

  expect(sources.length).toBeGreaterThan(30)
  expect(forbidden).toEqual([])
})

test('every room of src has its row in the table', () => {
  const rooms = readdirSync(join(checkout, 'src')).map(roomOf)

  expect(rooms.filter((room) => !ROOMS.includes(room))).toEqual([])
})

test.each(['src', 'web'])('no file of %s has more than 300 lines', (folder) => {
  const files = readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(?:ts|css)$/.test(file),
  )

  const long = files.flatMap((file) => {
    const { length } = readFileSync(join(checkout, folder, file), 'utf8')
      .trimEnd()
      .split('\n')
    return length > 300 ? [`${folder}/${file} has ${length}`] : []
  })

  expect(files.length).toBeGreaterThan(100)
  expect(long).toEqual([])
})

function roomOf(file: string): string {
  return (file.split('/')[0] ?? '').replace(/\.ts$/, '')
}
