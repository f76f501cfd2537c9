import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblem } from '../../src/config/problem.ts'
import { createAddress } from '../../src/nodes/address.ts'
import { gatewaySetupOf, polledNetworksOf, targetsOf } from '../../src/targets.ts'
import type { FuzzOptions } from './caller-requests.ts'
import { below, pick, type Random, randomOf } from './hostile-responses.ts'

/**
 * Damages the example configuration and the invalid ones of test/config. Nothing may throw, take long, or repeat a secret; and what is
 * accepted must be usable. For hours: `npx tsx test/fuzz/configuration-files.ts --minutes 60 [--seed N]`.
 */
export function fuzzConfigurationFiles({ forMs, seed, maxCases = Number.POSITIVE_INFINITY }: FuzzOptions): {
  readonly problems: readonly string[]
  readonly cases: number
  readonly accepted: number
} {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-fuzz-'))
  const file = join(folder, 'heartline.yaml')
  const files = validAndInvalidFiles()
  const problems: string[] = []
  let accepted = 0
  let next = seed
  const endAt = performance.now() + forMs
  while (performance.now() < endAt && problems.length === 0 && next - seed < maxCases) {
    const at = next++
    const random = randomOf(at)
    // The example comes first, unchanged, and half of the time: only it can be accepted after small damage.
    const text = at === seed ? EXAMPLE : damaged(random() < 0.5 ? EXAMPLE : pick(random, files), random, files)
    writeFileSync(file, text)
    const startedAt = process.cpuUsage()
    try {
      const result = loadConfig(file, ENVIRONMENT)
      const said = (result.ok ? result.warnings : result.problems).map((one) => formatProblem('heartline.yaml', one))
      if (said.some((line) => line.includes(CANARY))) problems.push(`a secret is repeated (seed ${at})`)
      if (!result.ok && said.length === 0) problems.push(`rejected without a reason (seed ${at})`)
      if (result.ok) {
        accepted++
        for (const target of targetsOf(result.config.networks)) createAddress(target).pathOf('/')
        polledNetworksOf(result.config)
        gatewaySetupOf(result.config)
      }
    } catch (error) {
      problems.push(`thrown: ${error instanceof Error ? error.stack : String(error)} (seed ${at})`)
    }
    const { user, system } = process.cpuUsage(startedAt)
    if (user + system > LONGEST_US) problems.push(`took ${(user + system) / 1000} ms of processor time (seed ${at})`)
  }
  rmSync(folder, { recursive: true, force: true })
  if (accepted === 0) problems.push('the example is rejected as it stands')
  return { problems, cases: next - seed, accepted }
}

/** Begins every value that may be a secret. */
const CANARY = 'canary0123456789abcdef'
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../heartline.example.yaml'), 'utf8')
const ENVIRONMENT: Record<string, string> = {
  KEY: CANARY,
  CHAT_ID: `@${CANARY}`,
  HOOK_SECRET: `whsec_${btoa(CANARY + CANARY)}`,
}
for (const [, name = ''] of EXAMPLE.matchAll(/\$\{(\w+)\}/g)) ENVIRONMENT[name] ??= CANARY + name.toLowerCase()
/** A file of this size takes some 20 ms; a busy machine and a collection of garbage take more. */
const LONGEST_US = 3_000_000
const MAX_LENGTH = 65_536

function validAndInvalidFiles(): readonly string[] {
  const invalid = join(import.meta.dirname, '../config/invalid')
  const paths = readdirSync(invalid)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(invalid, name))
  const read = (path: string) => readFileSync(path, 'utf8')
  return [EXAMPLE, ...paths.map(read)]
}

const SPECIALS = [
  '&a ',
  '*a',
  '<<: *a\n',
  '!!binary ',
  '!!js/function ',
  '? ',
  '- ',
  ': ',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '|\n',
  '>\n',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '#',
  '\t',
  '\0',
  '\uFEFF',
  '\u2028',
  '\uD800',
  '~',
  'null',
  'true',
  '.nan',
  '.inf',
  '-0',
  '0x10',
  '1e400',
  '1e-9',
  '9007199254740993',
  '30s',
  '0s',
  '1000000d',
  '64MiB',
  '${KEY}',
  '${file:x}',
  '${',
  `${CANARY}:`,
  '__proto__: 1\n',
  'constructor: {}\n',
  '  interval: 1ms\n',
  'a: '.repeat(200),
  '['.repeat(2000),
  '{a: '.repeat(500),
] // prettier-ignore

function damaged(text: string, random: Random, files: readonly string[]): string {
  let now = text
  for (let edits = below(random, 4); edits > 0; edits--) {
    const at = below(random, now.length + 1)
    const lines = now.split('\n')
    const line = below(random, lines.length)
    switch (below(random, 7)) {
      case 0:
        now = now.slice(0, at) + pick(random, SPECIALS) + now.slice(at)
        break
      case 1:
        now = now.slice(0, at) + now.slice(at + below(random, 40))
        break
      case 2:
        now = now.slice(0, at) + String.fromCharCode(below(random, 0x300)) + now.slice(at + 1)
        break
      case 3:
        now = lines.toSpliced(line, below(random, 4)).join('\n')
        break
      case 4:
        now = lines.toSpliced(line, 0, ...Array<string>(1 + below(random, 20)).fill(pick(random, lines))).join('\n')
        break
      case 5:
        now = lines.with(line, ' '.repeat(below(random, 8)) + (lines[line] ?? '').trimStart()).join('\n')
        break
      case 6:
        // A value of one key under another.
        now = lines
          .with(
            line,
            (lines[line] ?? '').replace(/: .*/, () => valueIn(pick(random, files), random)),
          )
          .join('\n')
        break
    }
  }
  return now.slice(0, MAX_LENGTH)
}

function valueIn(text: string, random: Random): string {
  const values = text.match(/: .+/g) ?? [': 1']
  return random() < 0.5 ? pick(random, values) : `: ${pick(random, SPECIALS)}`
}

if (process.argv[1]?.endsWith('configuration-files.ts') === true) {
  const option = (name: string) => Number(process.argv[process.argv.indexOf(name) + 1])
  const minutes = process.argv.includes('--minutes') ? option('--minutes') : 1
  const seed = process.argv.includes('--seed') ? option('--seed') : Date.now() % 2 ** 31
  const report = fuzzConfigurationFiles({ forMs: minutes * 60_000, seed })
  console.log(JSON.stringify({ seed, ...report }, null, 2))
  process.exitCode = report.problems.length === 0 ? 0 : 1
}
