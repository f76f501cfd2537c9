import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { RUNBOOK_OF } from '../../core/verdict/runbook.ts'
import { packageRoot } from '../../version.ts'
import { sendProblem } from '../problem.ts'
import { type App, json, NoQuery, operation, problem, text } from '../route.ts'

/** The runbooks of `docs/runbooks/`, which are shipped with the page so that they can be read when nothing else can. */
export function readRunbooks(folder = join(packageRoot, 'docs/runbooks')) {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.md')) : []
  const texts = new Map(files.map((file) => [file.slice(0, -3), readFileSync(join(folder, file), 'utf8')]))
  return {
    names: [...texts.keys()].filter((name) => name !== 'README').sort(),
    /** Markdown, by the name of the runbook or of a condition; `null` if there is none. */
    text(given: string): string | null {
      const name = given.replace(/\.md$/, '')
      return texts.get(RUNBOOK_OF[name as keyof typeof RUNBOOK_OF] ?? name) ?? null
    },
  }
}

export type Runbooks = ReturnType<typeof readRunbooks>

/** `GET /api/v1/runbooks` and `GET /api/v1/runbooks/:name`: what the page shows at `/runbooks/NAME`. */
export function registerRunbooks(app: App, runbooks: Runbooks): void {
  const listRoute = operation({
    visibility: 'public',
    summary: 'The names of all runbooks',
    query: NoQuery,
    answers: { 200: json(z.object({ runbooks: z.array(z.string()) }), 'In alphabetical order') },
  })
  app.get('/api/v1/runbooks', listRoute, async () => ({ runbooks: [...runbooks.names] }))

  const route = operation({
    visibility: 'public',
    summary: 'The runbook of an alert or a condition, as Markdown',
    params: z.object({ name: z.string() }),
    query: NoQuery,
    answers: {
      200: text('What it means, how to check, and what to do', 'text/markdown'),
      404: problem('There is no such runbook'),
    },
  })
  app.get('/api/v1/runbooks/:name', route, async (request, reply) => {
    const found = runbooks.text(request.params.name)
    if (found === null) return sendProblem(reply, { status: 404, detail: 'There is no such runbook.' })
    return reply.type('text/markdown; charset=utf-8').send(found)
  })
}
