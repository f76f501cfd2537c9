import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './page.mjs'
import { root } from './prepare.mjs'
import { buildProgram } from './program.mjs'
import { say } from './say.mjs'

const ROOMS = ['src', 'web']
const MODULES = join(root, 'dist/modules')

/** Checks the types, then bundles daemon and page; true if there were no errors. */
export async function build() {
  return (await checkTypes()) && (await bundle())
}

/** Daemon and page, without types: all that runs Heartline; true if there were no errors. */
export async function bundle() {
  return (await buildProgram()) && (await buildPage())
}

/**
 * Checks the types of src/ and web/ while it compiles them incrementally to dist/modules/, for the types of tests and for
 * benches; true if there were no errors.
 */
export async function checkTypes({ priority = constants.priority.PRIORITY_NORMAL } = {}) {
  removeOrphans()
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  if (!existsSync(tsc)) {
    say(
      'checking types needs the packages of tests: run `npm ci` first. `node scripts/build.mjs --bundle` bundles without a check.',
    )
    return false
  }
  // The compiler's incremental state is wrong if its folder was emptied.
  const force = outputsMissing() ? ['--force'] : []
  const compiler = spawn(process.execPath, [tsc, '-b', 'tsconfig.json', 'web/tsconfig.json', ...force], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (compiler.pid !== undefined) setPriority(compiler.pid, priority)
  const [status] = await once(compiler, 'exit')
  return status === 0
}

function filesUnder(folder, ending) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

function outputsMissing() {
  return ROOMS.some((room) =>
    filesUnder(join(root, room), '.ts')
      .filter((file) => !file.endsWith('.d.ts'))
      .some((file) => !existsSync(join(MODULES, room, file.replace(/\.ts$/, '.js')))),
  )
}

/** Removes outputs of renamed modules, so that the old name cannot be imported. */
function removeOrphans() {
  for (const room of ROOMS) {
    const folder = join(MODULES, room)
    for (const file of [
      ...filesUnder(folder, '.js'),
      ...filesUnder(folder, '.d.ts'),
      ...filesUnder(folder, '.js.map'),
    ]) {
      const source = join(root, room, file.replace(/(\.d\.ts|\.js\.map|\.js)$/, '.ts'))
      if (!existsSync(source)) rmSync(join(folder, file))
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const work = process.argv.includes('--bundle') ? bundle : build
  process.exitCode = (await work()) ? 0 : 1
}
