import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../support/project.ts'

const ROOMS = ['src', 'web', 'grafana', 'test', 'bench', 'scripts', 'docs', 'migrations', 'packaging']
const PATHS = ROOMS.flatMap((room) =>
  readdirSync(join(checkout, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(checkout, join(entry.parentPath, entry.name))),
).concat(readdirSync(checkout))
const isCode = (path: string) => /\.(?:ts|mjs|js)$/.test(path) && !path.includes('/fixtures/')
const CODE = PATHS.filter((path) => isCode(path)).map((path) => ({ path, lines: linesOf(path) }))

interface Line {
  readonly where: string
  readonly text: string
}

/** Every line of the documentation, and of the comments in the code. */
const PROSE: readonly Line[] = [
  ...PATHS.filter((path) => path.endsWith('.md')).flatMap((path) => numbered(path, linesOf(path))),
  ...CODE.flatMap(({ path, lines }) => numbered(path, lines.map(commentOf))),
]

function linesOf(path: string): string[] {
  return readFileSync(join(checkout, path), 'utf8').split('\n')
}

function numbered(path: string, lines: readonly string[]): Line[] {
  return lines.map((text, at) => ({ where: `${path}:${at + 1}`, text }))
}

function commentOf(line: string): string {
  return /(?:^\s*|\s)(?:\/\/|\/\*\*|\*)\s(.*)$/.exec(line)?.[1] ?? ''
}

/** `poll/poller.ts`, but no relative path (a link, tested with the links), no pattern and no address. */
const FILE = /(?<![\w./*<>$}:-])(?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|mjs|sql|css|md)(?![\w-])/g

function isFile(name: string): boolean {
  return name.startsWith('.') || PATHS.some((path) => path === name || path.endsWith(`/${name}`))
}

describe('what documentation and comments refer to exists', () => {
  test('every file', () => {
    const named = PROSE.flatMap(({ where, text }) => [...text.matchAll(FILE)].map(([name]) => ({ where, name })))

    expect(named.length).toBeGreaterThan(200)
    expect(named.filter(({ name }) => !isFile(name))).toEqual([])
  })

  test('every constant', () => {
    const code = CODE.flatMap(({ lines }) => lines.filter((line) => commentOf(line) === '')).join('\n')
    const named = PROSE.filter(({ where }) => !where.startsWith('docs/decisions/')).flatMap(({ where, text }) =>
      [...text.matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`/g)].map(([, name = '']) => ({ where, name })),
    )

    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([])
  })

  test('every section of a page, such as `docs/operations.md`, "Sizing"', () => {
    const missing = PROSE.flatMap(({ where, text }) =>
      [...text.matchAll(/([\w./-]+\.md)[`)]*,? (?:section )?"([^"]+)"/g)].map(([, page = '', title = '']) => ({
        where,
        page: PATHS.find((path) => path === page || path.endsWith(`/${page}`)) ?? page,
        title,
      })),
    ).filter(({ page, title }) => !linesOf(page).some((line) => /^#+ /.test(line) && line.includes(title)))

    expect(missing).toEqual([])
  })

  test.each([
    ['Every fault, and where it is tested', 'test'],
    ['Several daemons', 'test/cluster'],
  ])('every test that the table "%s" of docs/reliability.md names, in %s', (title, folder) => {
    const lines = linesOf('docs/reliability.md')
    const from = lines.findIndex((line) => /^#+ /.test(line) && line.endsWith(title)) + 1
    const end = lines.findIndex((line, at) => at > from && /^#+ /.test(line))
    const rows = lines.slice(from, end).filter((line) => line.startsWith('|'))
    const tests = rows.flatMap((row) => [
      ...(row.split(' | ')[folder === 'test' ? 2 : 1] ?? '').matchAll(/`([^`]+\.ts)`/g),
    ])
    const paths = tests.map(([, name = '']) => (/^(?:test|bench)\//.test(name) ? name : `${folder}/${name}`))

    expect(paths.length).toBeGreaterThan(10)
    expect(paths.filter((path) => !PATHS.includes(path))).toEqual([])
  })
})
