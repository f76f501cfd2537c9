import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'
import { putInPlace } from './put-in-place.mjs'

/** Files that are programs or threads of their own. */
const STARTED = /^main\.ts$|-(worker|process)\.ts$/

/** Packages that stay as they are installed: one has a compiled part, and the others are for few daemons. */
const INSTALLED = ['better-sqlite3', '@fastify/swagger', 'nodemailer', 'pg', 'pino-pretty']
/** Older packages use this function, which modules do not have. */
const REQUIRE = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);"

/**
 * Bundles the daemon and most of its packages into `dist/src/`, a file for each program or thread and for what is loaded
 * later; true if there were no errors. Reading many hundreds of small modules took half of the CPU time of a start.
 */
export async function buildProgram() {
  // Imported late: on the first start it is installed only by now.
  const { build } = await import('esbuild')
  const src = join(root, 'src')
  const outdir = join(root, 'dist/src')
  const {
    errors,
    outputFiles = [],
    metafile,
  } = await build({
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
    external: INSTALLED,
    banner: { js: REQUIRE },
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
  }).catch(({ errors }) => ({ errors }))
  if (errors.length > 0) return false
  const files = new Map(outputFiles.map(({ path, contents }) => [path, contents]))
  files.set(join(outdir, 'licenses.txt'), Buffer.from(licensesOf(metafile)))
  putInPlace(outdir, files)
  return true
}

/** Every package that is part of the bundle, with its version and licence, as most licences demand. */
function licensesOf({ outputs }) {
  const parts = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs))
  const paths = parts.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path)
  const folders = paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  const sections = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    const text =
      file === undefined ? `By ${author?.name ?? author}` : readFileSync(join(root, folder, file), 'utf8').trim()
    return `=== ${name} ${version}: ${license}\n\n${text}\n`
  })
  return `Heartline's program contains these packages.\n\n${sections.join('\n')}`
}
