import type { Config } from '../config/config.ts'
import type { Environment } from '../config/interpolate.ts'
import { loadConfig, type Overrides } from '../config/load.ts'
import { formatProblem, type Problem } from '../config/problem.ts'
import type { CommandIo } from './io.ts'

/** The configuration that a command works with; `null` when it is bad, and every problem of it was told. */
export function readConfig(
  file: string,
  io: Pick<CommandIo, 'err'>,
  env: Environment,
  overrides: Overrides = {},
): { readonly config: Config; readonly warnings: readonly Problem[] } | null {
  const loaded = loadConfig(file, env, overrides)
  if (loaded.ok) return loaded
  tellProblems(file, loaded.problems, io)
  return null
}

export function tellProblems(file: string, problems: readonly Problem[], io: Pick<CommandIo, 'err'>): void {
  for (const problem of problems) io.err(formatProblem(file, problem))
}
