import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { packageRoot } from '../version.ts'

const compress = promisify(gzip)

export interface Asset {
  readonly body: Buffer
  /** Compressed, which is done once, when it is first asked for. */
  gzipped(): Promise<Buffer>
  readonly type: string
  readonly etag: string
}

/** What a browser loads besides the page: style and scripts as built, icons. Read once, at the start. */
export interface Assets {
  /** Of all of them: another one when any of them is another. */
  readonly version: string
  find(path: string): Asset | undefined
  /** The address of one; what is there never changes. */
  href(path: string): string
  /** A script and all that it imports at once, so that a browser can ask for them together. */
  closure(...paths: readonly string[]): readonly string[]
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export function readAssets(): Assets {
  const texts = new Map<string, string>()
  // Of what lies in both, the built one counts.
  for (const root of [join(packageRoot, 'web'), join(packageRoot, 'dist', 'page')]) {
    for (const file of filesIn(root)) texts.set(file, readFileSync(join(root, file), 'utf8'))
  }
  const assets = new Map<string, Asset>()
  for (const [path, text] of texts) assets.set(path, assetOf(path, text))
  const whole = createHash('sha256')
  for (const [path, { etag }] of [...assets].sort(([a], [b]) => (a < b ? -1 : 1))) whole.update(`${path} ${etag}\n`)
  const version = whole.digest('base64url').slice(0, 10)
  const imports = new Map([...assets].map(([path, { body }]) => [path, importsOf(path, body.toString())]))

  return {
    version,
    find: (path) => assets.get(path),
    href: (path) => `/assets/${version}/${path}`,
    closure(...paths) {
      const found = new Set<string>()
      const visit = (path: string) => {
        if (found.has(path) || !assets.has(path)) return
        found.add(path)
        for (const one of imports.get(path) ?? []) visit(one)
      }
      for (const path of paths) visit(path)
      return [...found]
    },
  }
}

function filesIn(root: string): string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => Object.keys(TYPES).some((ending) => file.endsWith(ending)))
}

function assetOf(path: string, text: string): Asset {
  const body = Buffer.from(text)
  let gzipped: Promise<Buffer> | null = null
  return {
    body,
    gzipped: () => (gzipped ??= compress(body, { level: 9 })),
    type: TYPES[path.slice(path.lastIndexOf('.'))] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  }
}

/** What a script cannot do without; what it imports later, by `import()`, is not among it. */
function importsOf(path: string, text: string): string[] {
  if (!path.endsWith('.js')) return []
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*['"](\.[^'"]+)['"]/g)].map(([, to = '']) =>
    posix.join(posix.dirname(path), to),
  )
}
