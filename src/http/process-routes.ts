import type { FastifyInstance } from 'fastify'

export interface ProcessRoutesDeps {
  /** The store is open and the first round of polls is done. */
  readonly ready: () => boolean
  readonly stopping: () => boolean
}

/** Whether the process runs, and whether it can be relied on: for supervisors and load balancers. */
export function registerProcess(app: FastifyInstance, { ready, stopping }: ProcessRoutesDeps): void {
  const config = { visibility: 'anybody' } as const

  app.get('/-/healthy', { config }, (_request, reply) => reply.type('text/plain; charset=utf-8').send('healthy\n'))

  app.get('/-/ready', { config }, (_request, reply) => {
    reply.type('text/plain; charset=utf-8')
    if (stopping()) return reply.code(503).send('not ready: stopping\n')
    if (!ready()) return reply.code(503).send('not ready: the first round of polls is not done yet\n')
    return reply.send('ready\n')
  })
}
