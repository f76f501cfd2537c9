import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './prepare.mjs'

/** Writes `dist/page/`, what browsers load: `web/app.ts`, and by itself every view and style sheet; true when there were no errors. */
export async function buildPage() {
  // Not before: whoever starts for the first time has it installed only by now.
  const { build } = await import('esbuild')
  const outdir = join(root, 'dist/page')
  rmSync(outdir, { recursive: true, force: true })
  const { errors } = await build({
    absWorkingDir: root,
    entryPoints: [
      'web/app.ts',
      ...inFolder('web', '.js'),
      ...inFolder('web', '.css'),
      ...views(),
      ...inFolder('web/views', '.css'),
    ],
    outbase: 'web',
    outdir,
    bundle: true,
    // What several views share is a file of its own, so that none of it is loaded twice.
    splitting: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    plugins: [{ name: 'templates', setup: tightened }],
    logLevel: 'error',
  }).catch(({ errors }) => ({ errors }))
  return errors.length === 0
}

/** Lines between tags are for people: without them 300 endpoints are half as many nodes. The daemon leaves them out too. */
function tightened({ onLoad }) {
  onLoad({ filter: /web\/views\/[^/]+\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replace(/>\s*\n\s*</g, '><'),
    loader: 'ts',
  }))
}

/** The files of `web/views/` that are a view, and not a part of one. */
function views() {
  return inFolder('web/views', '.ts').filter((file) =>
    /^export const view\b/m.test(readFileSync(join(root, file), 'utf8')),
  )
}

function inFolder(folder, ending) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder))
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = (await buildPage()) ? 0 : 1
