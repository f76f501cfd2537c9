import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensurePackages } from './install-packages.mjs'
import { giveUp } from './say.mjs'
import { ensureSystemPackages, installDebianPackages } from './system.mjs'

const OLDEST_NODE = [20, 19]

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Makes a checkout ready to run; with `forTests`, ready for every test too. */
export async function prepare({ forTests }) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    giveUp(`Node ${OLDEST_NODE.join('.')} or newer is needed, this is ${process.versions.node}.`)
  }
  await ensurePackages(root, { forTests, installDebianPackages })
  if (forTests) ensureSystemPackages()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await prepare({ forTests: process.argv.includes('--for-tests') })
}
