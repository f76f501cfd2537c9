import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../support/project.ts'

/** Files, constants and sections that documents and comments name must exist: a pointer to nowhere costs a reader minutes. */

const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: checkout,
  encoding: 'utf8',
}).split('\n')
const read = (file: string) => readFileSync(join(checkout, file), 'utf8')
const CODE = FILES.filter((file) => /\.(ts|mjs|css)$/.test(file) && !file.startsWith('test/answers/'))
const DOCUMENTS = FILES.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')

interface Text {
  readonly where: string
  readonly text: string
}

/** Comments without the code around them. A `//` inside a string, as in a URL, is no comment. */
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|[\s{};,)])\/\/ .*$/gm
const commentsOf = (source: string) => source.match(COMMENT) ?? []
const COMMENTS: readonly Text[] = CODE.flatMap((file) => commentsOf(read(file)).map((text) => ({ where: file, text })))
const PROSE: readonly Text[] = [
  ...COMMENTS,
  ...DOCUMENTS.map((file) => ({ where: file, text: read(file) })),
  { where: '.oxlintrc.json', text: read('.oxlintrc.json') },
]

function missing(pattern: RegExp, exists: (name: string, where: string) => boolean, texts = PROSE): string[] {
  const found = texts.flatMap(({ where, text }) =>
    [...text.matchAll(pattern)].flatMap(([, name = '']) => (exists(name, where) ? [] : [`${where}: ${name}`])),
  )
  return [...new Set(found)]
}

test('every source file that a document or a comment names exists', () => {
  const names = /(?<![\w./*<-])((?:[a-z][\w-]*\/)*[a-z][\w-]*\.(?:test\.ts|ts|mjs))\b/g
  const exists = (name: string) => FILES.some((file) => file === name || file.endsWith(`/${name}`))

  const found = missing(names, exists)

  expect(PROSE.length).toBeGreaterThan(1000)
  expect(found).toEqual([])
})

test('every constant that a document or a comment names exists', () => {
  const code = CODE.map((file) => read(file).replaceAll(COMMENT, '')).join('\n')
  const words = new Set(code.match(/[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+/g))
  const OTHER_FILES = FILES.filter(
    (file) => /\.(ya?ml|json|service|c|h)$|Dockerfile/.test(file) && file !== 'package-lock.json',
  )
  const elsewhere = OTHER_FILES.map(read).join('\n')

  const found = missing(
    /(?<![\w$%{])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w}])/g,
    (name) => words.has(name) || elsewhere.includes(name),
    COMMENTS,
  )

  expect(found).toEqual([])
})

test('every section of a document that the linter or a comment names exists', () => {
  const named = /(docs\/[a-z-]+\.md, [A-Z]\w+)/g
  const exists = (name: string) => {
    const [file = '', heading = ''] = name.split(', ')
    return FILES.includes(file) && read(file).includes(`\n## ${heading}`)
  }

  expect(missing(named, exists)).toEqual([])
})

test('no document or comment points to a paper outside the repository', () => {
  const found = missing(
    /\b(the contract(?:'s|’s)? section|contract\.md|section \d+ of the protocols|protocols\.md|facts\.md|faults\.md)/gi,
    () => false,
  )

  expect(found).toEqual([])
})
