import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../version.ts'
import { sendProblem } from './problem.ts'
import { type App, NoQuery, operation, text } from './route.ts'

/** `GET /runbooks/:name`: the runbooks that messages and alerts link to, as they are in `docs/runbooks`. */
export function registerRunbooks(app: App): void {
  const folder = join(packageRoot, 'docs', 'runbooks')
  // Who leaves the documentation out of an image still gets a daemon.
  const files = existsSync(folder) ? readdirSync(folder) : []
  const names = new Set(files.map((file) => file.replace(/\.md$/, '')))
  const route = operation({
    visibility: 'public',
    summary: 'A runbook: what an alert means, how to check it, what to do',
    params: z.object({ name: z.string() }),
    query: NoQuery,
    answers: { 200: text('The runbook in Markdown') },
  })
  app.get('/runbooks/:name', route, (request, reply) => {
    const name = request.params.name.replace(/\.md$/, '')
    if (!names.has(name)) return sendProblem(reply, { status: 404, detail: 'There is no such runbook.' })
    return reply.type('text/plain; charset=utf-8').send(readFileSync(join(folder, `${name}.md`), 'utf8'))
  })
}
