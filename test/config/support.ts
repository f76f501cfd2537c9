import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConfigResult, configFromObject, type Overrides } from '../../src/config/load.ts'
import type { Config } from '../../src/config/resolve.ts'

/** One ethereum endpoint; `own` goes into it, `network` around it, `rest` beside the networks. */
export function minimal({ own = {}, network = {}, rest = {} }: { own?: object; network?: object; rest?: object } = {}) {
  const endpoint = { name: 'own-1', url: 'http://127.0.0.1:8545', ...own }
  return { networks: [{ name: 'main', family: 'ethereum', endpoints: [endpoint], ...network }], ...rest }
}

export function accepted(
  value: unknown,
  {
    baseDir = tmpdir(),
    env = {},
    overrides = {},
  }: { baseDir?: string; env?: Record<string, string>; overrides?: Overrides } = {},
): Config {
  return valid(configFromObject(value, baseDir, env, overrides)).config
}

export function valid(result: ConfigResult) {
  if (!result.ok) throw new Error(result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
  return result
}

export function temporaryFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-config-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
