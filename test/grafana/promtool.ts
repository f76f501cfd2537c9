import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import { stringify } from 'yaml'

export interface Checked {
  readonly status: number | null
  readonly output: string
}

/** A unit test of promtool, with the file of its rules. */
export interface RuleTest {
  readonly rules: string
  readonly evaluation_interval: string
  readonly tests: readonly object[]
}

/** Runs promtool in a folder with these files. */
export function promtool(args: readonly string[], files: Readonly<Record<string, string>> = {}): Checked {
  const folder = folderWith(files)
  try {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs all planned tests before the first one of this `describe`; each then returns what promtool said. */
export function planRuleTests(): (test: RuleTest) => () => string | undefined {
  const planned: RuleTest[] = []
  let said: readonly string[] = []
  beforeAll(async () => {
    said = await runRuleTests(planned)
  })
  return (test) => {
    const at = planned.push(test) - 1
    return () => said[at]
  }
}

/** What promtool says of each: `SUCCESS`, or what is wrong. One process for all, because most take less time than its start. */
async function runRuleTests(tests: readonly RuleTest[]): Promise<readonly string[]> {
  const files = tests.map(({ rules, ...test }, at) => ({
    [`rules-${at}.yml`]: rules,
    [`test-${at}.yml`]: stringify({ rule_files: [`rules-${at}.yml`], ...test }),
  }))
  const folder = folderWith(Object.assign({}, ...files))
  try {
    // It reports success and failure to different streams: one file keeps their order.
    const file = join(folder, 'output')
    const output = openSync(file, 'w')
    const names = tests.map((_, at) => `test-${at}.yml`)
    const child = spawn('promtool', ['test', 'rules', ...names], {
      cwd: folder,
      stdio: ['ignore', output, output],
      // A fifth of its CPU time was garbage collection.
      env: { ...process.env, GOGC: '400' },
    })
    await once(child, 'exit')
    closeSync(output)
    const parts = readFileSync(file, 'utf8').split(/^Unit Testing: +/m)
    return names.map((name) => {
      const own = parts.find((part) => part.startsWith(`${name}\n`)) ?? `${name}: not run`
      return own.slice(name.length).trim()
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-promtool-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
