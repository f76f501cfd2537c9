import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { packageFolder, packageRoot } from '../version.ts'

/** What a browser may load; the page's TypeScript sources lie beside it. */
const SERVED = /\.(html|css|js|svg)$/

/** The status page: its text and style as they are in `web/`, its scripts as compiled, and lit-html from its package. */
export function registerPage(app: FastifyInstance): void {
  const config = { visibility: 'public' } as const
  const litHtml = dirname(fileURLToPath(import.meta.resolve('lit-html')))

  app.register(async (page) => {
    page.addHook('onRoute', (route) => {
      route.config = { ...route.config, ...config }
    })
    await page.register(fastifyStatic, {
      root: [join(packageRoot, 'web'), join(packageRoot, 'dist', 'web')],
      prefix: '/assets/',
      index: false,
      list: false,
      cacheControl: true,
      maxAge: 0,
      allowedPath: (path) => SERVED.test(path),
    })
    page.get('/', (_request, reply) => reply.sendFile('index.html', join(packageRoot, 'web')))
    // The page imports `./lit.js`, which names the package; a browser cannot look for packages, so it gets the package's file.
    page.get('/assets/lit.js', (_request, reply) => reply.sendFile('lit-html.js', packageFolder(litHtml)))
  })
}
