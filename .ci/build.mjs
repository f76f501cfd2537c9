import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './prepare.mjs'

const ROOMS = ['src', 'web']
/** Modules that the page loads as they are: source in node_modules, name in dist/web. */
const BROWSER_MODULES = [['lit-html/lit-html.js', 'lit-html.js']]

/** Compiles src/ and web/ to dist/, only what changed; true when there were no errors. */
export function build() {
  removeOrphans()
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  // The compiler trusts its own notes; where somebody emptied dist/ they are wrong.
  const force = outputsMissing() ? ['--force'] : []
  const { status } = spawnSync(process.execPath, [tsc, '-b', 'tsconfig.json', 'web/tsconfig.json', ...force], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) return false
  for (const [source, name] of BROWSER_MODULES) {
    mkdirSync(join(root, 'dist/web'), { recursive: true })
    copyFileSync(join(root, 'node_modules', source), join(root, 'dist/web', name))
  }
  return true
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
      .some((file) => !existsSync(join(root, 'dist', room, file.replace(/\.ts$/, '.js')))),
  )
}

/** A module that was renamed must not stay importable under its old name. */
function removeOrphans() {
  const kept = new Set(BROWSER_MODULES.map(([, name]) => name))
  for (const room of ROOMS) {
    const folder = join(root, 'dist', room)
    for (const file of [
      ...filesUnder(folder, '.js'),
      ...filesUnder(folder, '.d.ts'),
      ...filesUnder(folder, '.js.map'),
    ]) {
      const source = join(root, room, file.replace(/(\.d\.ts|\.js\.map|\.js)$/, '.ts'))
      if (!existsSync(source) && !(room === 'web' && kept.has(file))) rmSync(join(folder, file))
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = build() ? 0 : 1
