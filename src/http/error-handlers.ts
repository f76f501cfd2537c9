import type { Socket } from 'node:net'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { placeOf } from '../log.ts'
import { Unreadable } from '../store/reads.ts'
import { prefersHtml } from './negotiation.ts'
import type { Pages } from './page/page-routes.ts'
import { fieldErrors, parameterErrors, problemBody, sendBadQuery, sendProblem } from './problem.ts'
import type { App, RouteDeps } from './route.ts'

/** Answers requests that no route answers. */
export function addErrors(app: App, { log }: Pick<RouteDeps, 'log'>, pages: Pages, paths: readonly KnownPath[]): void {
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    if (prefersHtml(request)) return pages.sendMissing(request, reply)
    const methods = new Set(paths.filter(({ pattern }) => pattern.test(path)).flatMap((known) => known.methods))
    if (methods.size === 0 || methods.has(request.method)) {
      return sendProblem(reply, {
        status: 404,
        detail: 'No resource has this path. The paths of the API are listed at /openapi.json.',
      })
    }
    const allowed = [...methods].join(', ')
    return sendProblem(reply.header('allow', allowed), { status: 405, detail: `This resource allows ${allowed}.` })
  })
  app.setErrorHandler((error: Error & { statusCode?: number; code?: string }, request, reply) => {
    if (hasZodFastifySchemaValidationErrors(error)) {
      const { validation } = error
      const isBody = error.validationContext === 'body'
      return sendBadQuery(reply, isBody ? fieldErrors(validation) : parameterErrors(request.query, validation))
    }
    if (error instanceof Unreadable) {
      const what = `${error.what.charAt(0).toUpperCase()}${error.what.slice(1)}`
      return sendProblem(reply, { status: 503, detail: `${what} cannot be read now.` })
    }
    const status = error.statusCode ?? 500
    if (status === 415) return sendProblem(reply, { status, detail: 'Send JSON, as `Content-Type: application/json`.' })
    if (status >= 400 && status < 500) return sendProblem(reply, { status, detail: 'The request cannot be read.' })
    const { code = null } = error
    log.error({ route: request.routeOptions.url ?? null, error: placeOf(error), code }, 'request failed')
    return sendProblem(reply, { status: 500, detail: 'Heartline failed to answer; its log says more.' })
  })
}

interface KnownPath {
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** The paths of all routes, for requests whose method is not allowed. */
export function knownPaths(app: App): readonly KnownPath[] {
  const paths: KnownPath[] = []
  app.addHook('onRoute', ({ url, method }) => void paths.push({ pattern: patternOf(url), methods: [method].flat() }))
  return paths
}

function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replace(/\*$/, '.*')}$`)
}

/** Responds to requests that are not HTTP, too slow or too large. */
export function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const [status, reason]: [number, string] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'Request Timeout']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'Request Header Fields Too Large']
        : [400, 'Bad Request']
  const body = JSON.stringify(problemBody({ status, detail: 'The request cannot be read.' }))
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/problem+json; charset=utf-8\r\n`
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
}
