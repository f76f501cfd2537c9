import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'
import { putInPlace } from './put-in-place.mjs'

/** Files that are programs or threads of their own. */
const STARTED = /^main\.ts$|-(worker|process)\.ts$/

/**
 * Bundles the daemon into `dist/src/`, a file for each program or thread and for what is loaded later; true if there were
 * no errors. Reading hundreds of small modules took a fifth of the CPU time of a start. Packages stay as they are installed.
 */
export async function buildProgram() {
  // Imported late: on the first start it is installed only by now.
  const { build } = await import('esbuild')
  const src = join(root, 'src')
  const outdir = join(root, 'dist/src')
  const { errors, outputFiles = [] } = await build({
    absWorkingDir: root,
    entryPoints: readdirSync(src, { recursive: true, withFileTypes: true })
      .filter((entry) => STARTED.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
    outdir,
    // Side by side, where each finds the others.
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    // A command loads what it needs, and no more.
    splitting: true,
    write: false,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
  }).catch(({ errors }) => ({ errors }))
  if (errors.length > 0) return false
  putInPlace(outdir, new Map(outputFiles.map(({ path, contents }) => [path, contents])))
  return true
}
