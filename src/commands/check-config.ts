import { type Environment } from '../config/interpolate.ts'
import type { Overrides } from '../config/load.ts'
import { formatProblem } from '../config/problem.ts'
import { type CommandIo, EXIT } from './io.ts'
import { readConfig } from './read-config.ts'

/** Validates a configuration file and prints everything that is wrong or doubtful; 78 if anything is wrong. */
export async function checkConfig(
  options: { readonly config: string } & Overrides,
  io: Pick<CommandIo, 'out' | 'err'>,
  env: Environment = process.env,
): Promise<number> {
  const { config: file, ...overrides } = options
  const result = readConfig(file, io, env, overrides)
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
