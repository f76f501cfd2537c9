import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import fastifyStatic from '@fastify/static'
import { packageRoot } from '../../version.ts'
import { addVary } from '../negotiation.ts'
import type { App } from '../route.ts'

export type Assets = ReturnType<typeof registerAssets>

/**
 * Serves the styles, scripts and icon of the page, built and compressed by `scripts/page.mjs`. They need no token,
 * because the sign-in form uses them and they contain no data of nodes.
 */
export function registerAssets(app: App) {
  const root = join(packageRoot, 'dist', 'page')
  const { version, imports } = readAll(root)
  void app.register(fastifyStatic, { root, serve: false, preCompressed: true, dotfiles: 'ignore', index: false })
  app.get('/assets/*', { config: { visibility: 'always' } }, (request, reply) => {
    const { '*': path } = request.params as { '*': string }
    const isVersioned = path.startsWith(`${version}/`)
    addVary(reply, 'Accept-Encoding')
    // A file without the version in its path may change with an update.
    if (!isVersioned) return reply.sendFile(path, { cacheControl: false })
    return reply.sendFile(path.slice(version.length + 1), { maxAge: '365d', immutable: true })
  })

  return {
    /** The versioned URL of an asset, whose content never changes. */
    href: (path: string) => `/assets/${version}/${path}`,
    /** These scripts and all their imports, so that a browser can request them at once. */
    closure(...paths: readonly string[]): readonly string[] {
      const found = new Set<string>()
      const visit = (path: string) => {
        const of = imports.get(path)
        if (found.has(path) || of === undefined) return
        found.add(path)
        for (const one of of) visit(one)
      }
      for (const path of paths) visit(path)
      return [...found]
    },
  }
}

function readAll(root: string) {
  const whole = createHash('sha256')
  const imports = new Map<string, readonly string[]>()
  for (const path of filesIn(root)) {
    const text = readFileSync(join(root, path), 'utf8')
    whole.update(`${path} ${text.length}\n${text}`)
    if (path.endsWith('.js')) imports.set(path, importsOf(path, text))
  }
  return { version: whole.digest('base64url').slice(0, 10), imports }
}

function filesIn(root: string): string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => /\.(js|css|svg)$/.test(file))
    .sort()
}

/** Static imports only: `import()` loads its module later. */
function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*['"](\.[^'"]+)['"]/g)].map(([, to = '']) =>
    posix.join(posix.dirname(path), to),
  )
}
