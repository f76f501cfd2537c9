import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblem } from '../../src/config/problem.ts'
import { METRICS, PREFIX, PROBE_METRICS } from '../../src/metrics/registry.ts'
import { setUp } from '../http/setting.ts'
import { heartlineCalls, problemOf } from '../support/command-lines.ts'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'
import { requirePackage } from '../support/system-package.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(checkout, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]
const OUR_KEYS = ['server', 'store', 'cluster', 'poll', 'networks', 'gateway', 'notify', 'maintenance', 'log']
/** Files of other programs that a reader of ours needs too, by their keys. */
const FOREIGN_KEYS = ['apiVersion', 'inhibit_rules', 'receivers', 'route', 'services']
const hasPromtool = requirePackage('promtool', 'prometheus')
let folder: string

beforeAll(() => {
  folder = temporaryFolder()
})
afterAll(() => removeFolder(folder))

interface Block {
  readonly where: string
  /** `yaml`, `sh`; and whose it is, where it is another program's. */
  readonly language: string
  readonly owner: string | undefined
  readonly text: string
}

const BLOCKS: readonly Block[] = PAGES.flatMap((page) => {
  const source = readFileSync(join(checkout, page), 'utf8')
  return [...source.matchAll(/^( *)```(\w+)(?: (\w+))?\n(.*?)^\1```$/gms)].map((match) => {
    const [, indent = '', language = '', owner, text = ''] = match
    const line = source.slice(0, match.index).split('\n').length
    return { where: `${page}:${line}`, language, owner, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
})
const named = (language: string) => BLOCKS.filter((block) => block.language === language)

/** What is wrong with a part of a configuration, as if its reader had put in what it refers to. */
function problemsOf(text: string): readonly string[] {
  const part = parse(text) as Record<string, unknown>
  const endpoint = { name: 'own-1', url: 'http://127.0.0.1:8545' }
  const networks = [{ name: 'ethereum', family: 'ethereum', endpoints: [endpoint] }]
  const file = join(folder, 'heartline.yaml')
  writeFileSync(file, part['networks'] === undefined ? `${text}\nnetworks: ${JSON.stringify(networks)}\n` : text)
  const env: Record<string, string> = {}
  for (const [, name] of text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)) env[name!] = `value-of-${name!.toLowerCase()}`
  for (const [, path] of text.matchAll(/\$\{file:([^}]+)\}/g)) put(path!, 'a-secret-of-sixteen-or-more')
  for (const [, key, path] of text.matchAll(/\b(cert|key|ca): *"?([\w./-]+\.(?:pem|crt|key))"?/g)) {
    put(path!, readFileSync(join(checkout, 'test/config/tls', key === 'key' ? 'a.key' : 'a.crt'), 'utf8'))
  }
  const loaded = loadConfig(file, env)
  return loaded.ok ? [] : loaded.problems.map((problem) => formatProblem('heartline.yaml', problem))
}

/** Absolute paths exist on the reader's machine only. */
function put(path: string, text: string): void {
  if (path.startsWith('/')) return
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function checkWithPromtool(text: string, command: 'config' | 'rules'): void {
  if (!hasPromtool) return
  const file = join(folder, `${command}.yml`)
  // Rules and tokens that it names are elsewhere.
  writeFileSync(file, text.replaceAll(/^rule_files:.*$/gm, ''))
  const only = command === 'config' ? ['--syntax-only'] : []
  execFileSync('promtool', ['check', command, ...only, file], { stdio: 'pipe' })
}

describe('every YAML block of the documentation', () => {
  test.each(named('yaml').map((block) => [block.where, block] as const))('%s is valid', (_where, { text, owner }) => {
    const keys = Object.keys(parse(text) as object)

    if (owner !== undefined) expect(keys.length).toBeGreaterThan(0)
    else if (keys.includes('scrape_configs')) checkWithPromtool(text, 'config')
    else if (keys.includes('groups')) checkWithPromtool(text, 'rules')
    else if (keys.some((key) => FOREIGN_KEYS.includes(key))) expect(keys).not.toContain('networks')
    else {
      expect(keys.filter((key) => !OUR_KEYS.includes(key))).toEqual([])
      expect(problemsOf(text)).toEqual([])
    }
  })

  test('is looked at: there are some, of ours and of others', () => {
    expect(named('yaml').length).toBeGreaterThan(8)
    expect(problemsOf('poll: { intervall: 5s }')).not.toEqual([])
  })
})

describe('every shell block of the documentation', () => {
  const scripts = Object.keys(
    (JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { scripts: object }).scripts,
  )

  test.each(named('sh').map((block) => [block.where, block] as const))(
    '%s calls commands that there are',
    async (_where, { text }) => {
      for (const call of heartlineCalls(text)) expect(await problemOf(call), call.join(' ')).toBeNull()
      for (const [, script] of text.matchAll(/\bnpm run ([\w-]+)/g)) expect(scripts).toContain(script)
    },
    60_000,
  )

  test('is looked at: calls are found however they are written', async () => {
    expect(
      heartlineCalls('FOO=1 true && npx heartline probe \\\n  --json # all\nnode /opt/x/dist/src/main.js'),
    ).toEqual([['probe', '--json'], []])
    expect(await problemOf(['probe', '--xml'])).toBe('probe has no option --xml')
    expect(await problemOf(['polish'])).toBe('there is no command polish')
    expect(named('sh').flatMap(({ text }) => heartlineCalls(text)).length).toBeGreaterThan(15)
  }, 120_000)
})

describe('every link of the documentation', () => {
  test.each(PAGES)('%s leads to pages and headings that exist', (page) => {
    const source = readFileSync(join(checkout, page), 'utf8').replaceAll(/```.*?```/gs, '')
    const broken = [...source.matchAll(/\]\((?!https?:|mailto:)([^)\s]*)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !leadsSomewhere(page, link))

    expect(broken).toEqual([])
  })
})

test.each(PAGES)('%s names metrics that there are', (page) => {
  const known = new Set([...Object.keys(METRICS), ...Object.keys(PROBE_METRICS)].map((name) => `${PREFIX}${name}`))
  // A part of a name (`heartline_gateway_`) stands for all that begin so.
  const named = [...readFileSync(join(checkout, page), 'utf8').matchAll(/\bheartline_[a-z_]*[a-z](?![a-z_*…])/g)]
  const families = named.map(([name]) => (known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')))

  expect(families.filter((name) => !known.has(name))).toEqual([])
})

test('the page on security says of every route who may read it', async () => {
  const page = readFileSync(join(checkout, 'docs/security.md'), 'utf8')
  const { paths }: { paths: object } = (await setUp().server.inject('/openapi.json')).json()
  // `/api/v1/networks/{network}/blocks` is documented as `…/blocks`.
  const routes = Object.keys(paths).map((path) =>
    path
      .replace(/^\/api\/v1\//, '')
      .replace(/^.*\}(?=\/\w)/, '…')
      .replace(/\/\{.*$/, ''),
  )

  expect(new Set(routes).size).toBeGreaterThan(12)
  for (const route of routes) expect(page, route).toMatch(new RegExp(`^\\|.*\`[^\`]*${route}\\b`, 'm'))
})

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(checkout, target))) return false
  return anchor === undefined || anchorsOf(target).has(anchor)
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = readFileSync(join(checkout, page), 'utf8').matchAll(/^#+ (.+)$/gm)
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )
}
