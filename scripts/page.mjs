import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { root } from './prepare.mjs'
import { isInPlace, putInPlace } from './put-in-place.mjs'

/** Bundles `web/app.ts`, every view and every style sheet into `dist/page/`, plain and compressed; true if there were no errors. */
export async function buildPage() {
  // Imported late: on the first start it is installed only by now.
  const { build } = await import('esbuild')
  const outdir = join(root, 'dist/page')
  const { errors, outputFiles = [] } = await build({
    absWorkingDir: root,
    entryPoints: [
      'web/app.ts',
      ...['.js', '.css', '.svg'].flatMap((ending) => inFolder('web', ending)),
      ...views(),
      ...styles(),
    ].map((file) => ({ in: file, out: outOf(file) })),
    outdir,
    write: false,
    loader: { '.svg': 'copy' },
    bundle: true,
    // Code shared by several views is a separate file, so that it is loaded once.
    splitting: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    plugins: [{ name: 'prepared', setup: prepared }],
    logLevel: 'error',
  }).catch(({ errors }) => ({ errors }))
  if (errors.length > 0) return false
  putInPlace(outdir, withCompressed(outputFiles))
  return true
}

/** Found by trying: with these distances the first view is 60 bytes smaller than without. */
const BROTLI = { [constants.BROTLI_PARAM_NPOSTFIX]: 1, [constants.BROTLI_PARAM_NDIRECT]: 4 }

/** Each file with its compressed forms, of which those of an unchanged file are kept: they take most of the time. */
function withCompressed(files) {
  const wanted = new Map()
  for (const { path, contents } of files) {
    const forms = [
      [`${path}.gz`, () => gzipSync(contents, { level: 9 })],
      [`${path}.br`, () => brotliCompressSync(contents, { params: BROTLI })],
    ]
    const isUnchanged = isInPlace(path, contents) && forms.every(([form]) => existsSync(form))
    for (const [form, compress] of forms) wanted.set(form, isUnchanged ? readFileSync(form) : compress())
    // Last, so that a build that was interrupted is not taken for a complete one.
    wanted.set(path, contents)
  }
  return wanted
}

/**
 * Removes line breaks between tags, as the daemon does: 300 endpoints then need half as many nodes. Lazily loaded files import the
 * first view, so that esbuild makes one file of all shared code: eight files were a tenth larger, compressed.
 */
function prepared({ onLoad }) {
  const later = new Set(loadedLater().map((file) => join(root, file)))
  const app = join(root, 'web/app.ts')
  const incidents = join(root, 'web/views/events.ts')
  onLoad({ filter: /\/web\/(views\/([^/]+\/)?)?[^/]+\.ts$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8')
    // Words have line breaks only where readers need them.
    const isTemplate = path.startsWith(join(root, 'web/views/')) && !basename(path).startsWith('words-')
    const tight = isTemplate ? text.replace(/>\s*\n\s*</g, '><').replace(/\n +/g, '\n') : text
    const first = later.has(path) ? [app] : []
    const together = ONLY_WITH_INCIDENTS.test(tight) && path !== incidents ? [incidents] : []
    const imports = [...first, ...together].map((file) => `import ${JSON.stringify(file)}\n`)
    return { contents: imports.join('') + tight, loader: 'ts' }
  })
}

/** The style sheets of `web/views/` that are no part of another one. */
function styles() {
  const sheets = underViews('.css')
  const parts = namedIn(sheets, /@import "(\.[^"]+)"/g)
  return sheets.filter((sheet) => !parts.includes(sheet))
}

/** What the overview loads for open incidents is in one file, whoever else imports a part of it. */
const ONLY_WITH_INCIDENTS = /\bfrom '\.{1,2}\/(?:views\/)?(?:incident-sentence|words-events)\.ts'/

function loadedLater() {
  return namedIn([...inFolder('web', '.ts'), ...underViews('.ts')], /\bimport\('(\.[^']+)'\)/g)
}

/** The files that these files import in this form. */
function namedIn(files, form) {
  return files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(form)].map(([, to]) => join(dirname(file), to)),
  )
}

/** The files of `web/views/` that export a view. The overview is part of the app. */
function views() {
  return underViews('.ts').filter(
    (file) => basename(file) !== 'overview.ts' && /^export const view\b/m.test(readFileSync(join(root, file), 'utf8')),
  )
}

/** The path in `dist/page/` without its ending: `app`, and `views/network` for `web/views/network/network.ts`. */
function outOf(file) {
  const { name } = parse(file)
  return file.startsWith('web/views/') ? `views/${name}` : name
}

const underViews = (ending) => inFolder('web/views', ending, true)

function inFolder(folder, ending, recursive = false) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = (await buildPage()) ? 0 : 1
