import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const told = new Set<string>()

/**
 * Whether a command of one of Debian's packages is there. Where it is not, the tests that need it are skipped, with one
 * loud line; under CI=true nothing may be skipped, so its absence is an error.
 */
export function requirePackage(command: string, debianPackage: string, path?: string): boolean {
  if (isInstalled(command, path)) return true
  const problem = `${command} is missing: apt-get install ${debianPackage}`
  if (process.env.CI === 'true') throw new Error(problem)
  if (!told.has(command)) {
    told.add(command)
    console.warn(`\n!!! SKIPPED: the tests that need ${problem}\n`)
  }
  return false
}

export function isInstalled(command: string, path = process.env.PATH ?? ''): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
