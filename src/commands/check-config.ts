import { loadConfig, type Overrides } from '../config/load.ts'
import { formatProblem, type Problem } from '../config/problem.ts'
import type { Config } from '../config/resolve.ts'
import { type CommandIo, EXIT } from './io.ts'

/** Validates a configuration file and prints every problem and warning; exit status 78 if there is a problem. */
export async function checkConfig(
  { file, ...overrides }: { readonly file: string } & Overrides,
  io: Pick<CommandIo, 'out' | 'err' | 'env'>,
): Promise<number> {
  const result = readConfig(file, io, overrides)
  if (result === null) return EXIT.badConfig
  for (const warning of result.warnings) io.err(`warning: ${formatProblem(file, warning)}`)
  const { networks } = result.config
  const endpoints = networks.reduce((sum, network) => sum + network.endpoints.length, 0)
  io.out(`${file}: valid, ${count(networks.length, 'network')}, ${count(endpoints, 'endpoint')}`)
  return EXIT.ok
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** Loads the configuration; prints every problem of an invalid one and returns `null`. */
export function readConfig(
  file: string,
  io: Pick<CommandIo, 'err' | 'env'>,
  overrides: Overrides = {},
): { readonly config: Config; readonly warnings: readonly Problem[] } | null {
  const loaded = loadConfig(file, io.env, overrides)
  if (loaded.ok) return loaded
  printProblems(file, loaded.problems, io)
  return null
}

export function printProblems(file: string, problems: readonly Problem[], io: Pick<CommandIo, 'err'>): void {
  for (const problem of problems) io.err(formatProblem(file, problem))
}
