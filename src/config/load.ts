import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve as resolvePath } from 'node:path'
import type * as z from 'zod'
import { systemClock } from '../clock.ts'
import { isObject } from '../core/json.ts'
import { humanDuration } from '../core/time.ts'
import { exposedSecrets } from './exposed-secrets.ts'
import { type Environment, interpolate } from './interpolate.ts'
import { parseYaml } from './parse-yaml.ts'
import { formatPath, type Problem } from './problem.ts'
import { type Config, leastLeaseMs, resolve } from './resolve.ts'
import { checkRules } from './rules.ts'
import { salvage } from './salvage.ts'
import { ConfigFile } from './schema.ts'
import { readTlsFiles } from './tls-files.ts'

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Command line options that override the file. */
export interface Overrides {
  readonly admin?: boolean
  readonly logLevel?: Config['log']['level']
}

/** Reads, interpolates and checks a file. Never throws; no message contains a value. */
export function loadConfig(file: string, env: Environment, overrides: Overrides = {}): ConfigResult {
  const text = readText(file)
  if (!text.ok) return { ok: false, problems: [text.problem] }
  const parsed = parseYaml(text.text)
  if (!parsed.ok) return parsed
  const result = configFromObject(parsed.value, dirname(resolvePath(file)), env, overrides)
  if (!result.ok) return result
  return { ...result, warnings: [...result.warnings, ...exposedSecrets(file, text.text, result.config)] }
}

/** Like `loadConfig`, for parsed YAML. Relative paths are relative to `baseDir`. */
export function configFromObject(
  value: unknown,
  baseDir: string,
  env: Environment,
  overrides: Overrides = {},
): ConfigResult {
  const filled = interpolate(value, { baseDir, env })
  const raw = override(withoutEmptySections(filled.value), overrides)
  const parsed = ConfigFile.safeParse(raw)
  // Rules across keys run even if some keys are invalid, so that all problems are reported at once.
  const draft = parsed.success ? parsed.data : (salvage(ConfigFile, raw) ?? {})
  const misread = parsed.success ? [] : parsed.error.issues.flatMap(describe)
  const rules = checkRules(draft, {
    gatewayListenGiven: isObject(raw) && isObject(raw['gateway']) && 'listen' in raw['gateway'],
    wrong: new Set([...filled.problems, ...misread].map(({ path }) => path)),
  })
  const tls = readTlsFiles(draft, baseDir, systemClock.now())
  const problems = firstStagePerPath([
    filled.problems,
    misread,
    rules.problems,
    [...tls.problems, ...storeProblems(draft.store?.path, baseDir)],
  ])
  if (!parsed.success || problems.length > 0) return { ok: false, problems }
  const config = resolve(parsed.data, { baseDir, files: tls.files })
  const late = leaseProblems(config)
  if (late.length > 0) return { ok: false, problems: late }
  return { ok: true, config: freeze(config), warnings: [...rules.warnings, ...tls.warnings] }
}

/** The intervals of endpoints are known only once the file is valid. */
function leaseProblems({ cluster, networks }: Config): readonly Problem[] {
  const leastMs = leastLeaseMs(networks)
  if (cluster === null || cluster.leaseMs >= leastMs) return []
  const message = `expected at least ${humanDuration(leastMs)}, three intervals of the slowest endpoint`
  return [{ path: 'cluster.lease', message }]
}

/** Rejects a folder: it can never become the store, unlike a path that cannot be written yet. */
function storeProblems(path: string | undefined, baseDir: string): readonly Problem[] {
  if (path === undefined || path === ':memory:') return []
  const problem = (message: string) => [{ path: 'store.path', message }]
  try {
    return statSync(resolvePath(baseDir, path)).isDirectory() ? problem('is a folder, expected a file') : []
  } catch (error) {
    // A folder that this user may not enter is no error of the file: the daemon may run as another user.
    return errorCode(error) === 'ENOTDIR' ? problem('is inside of a file, expected a folder') : []
  }
}

/** A configuration of 10,000 endpoints takes 1 MB. */
const LIMIT_BYTES = 4 * 2 ** 20

function readText(file: string): { ok: true; text: string } | { ok: false; problem: Problem } {
  const failed = (message: string, path = '') => ({ ok: false, problem: { path, message } }) as const
  try {
    const stat = statSync(file)
    if (!stat.isFile()) return failed('is not a regular file')
    if (stat.size > LIMIT_BYTES) return failed('is larger than 4 MiB')
    const bytes = readFileSync(file)
    if (isUtf8(bytes)) return { ok: true, text: bytes.toString() }
    const lines = bytes.toString('latin1').split('\n')
    const at = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
    return failed('is not UTF-8 text', `line ${at + 1}`)
  } catch (error) {
    return failed(`cannot be read (${errorCode(error)})`)
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error'
}

/** A section whose keys are all commented out counts as not given. */
function withoutEmptySections(value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null))
}

function override(value: unknown, { admin, logLevel }: Overrides): unknown {
  if (!isObject(value)) return value
  const changed = { ...value }
  const put = (section: string, key: string, given: unknown) => {
    const keys = changed[section] ?? {}
    if (given !== undefined && isObject(keys)) changed[section] = { ...keys, [key]: given }
  }
  put('gateway', 'admin', admin)
  put('log', 'level', logLevel)
  return changed
}

function describe(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: formatPath([...issue.path, key]),
      message: key === '<<' ? NO_MERGE_KEYS : 'unknown key',
    }))
  }
  if (issue.code === 'invalid_key') {
    return issue.issues.map(({ message }) => ({ path: formatPath(issue.path), message }))
  }
  return [{ path: formatPath(issue.path), message: issue.message }]
}

const NO_MERGE_KEYS = '<< is no key of YAML 1.2: write out the keys, or use an alias for all of a value'

/** Keeps one problem per path, from the earliest stage: a value that was not interpolated also has the wrong type. */
function firstStagePerPath(stages: readonly (readonly Problem[])[]): readonly Problem[] {
  const seen = new Set<string>()
  return stages.flatMap((stage) => {
    const fresh = stage.filter(({ path }) => !seen.has(path))
    for (const { path } of fresh) seen.add(path)
    return fresh
  })
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}
