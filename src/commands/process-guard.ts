import { type Log, stackOf } from '../log.ts'
import type { ErrorSource } from '../metrics/registry.ts'
import { EXIT } from './io.ts'

/**
 * Logs and counts every unhandled error, and decides whether the process continues. It continues after a rejected
 * promise or a system error, such as a lack of file descriptors, because only one operation failed. After any other
 * exception, the state of Node.js or Heartline may be inconsistent.
 */
export function guardProcess({ log, count, exit }: ProcessGuardDeps): () => void {
  function onRejection(error: unknown): void {
    count('rejection')
    log.error(stackOf(error), 'unhandled rejection: Heartline goes on')
  }

  function onException(error: unknown): void {
    count('exception')
    if (isSystemError(error)) return log.error(stackOf(error), 'uncaught system error: Heartline goes on')
    log.error(stackOf(error), 'uncaught exception: Heartline ends')
    exit(EXIT.software)
  }

  process.on('unhandledRejection', onRejection).on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection).off('uncaughtException', onException)
  }
}

export interface ProcessGuardDeps {
  readonly log: Pick<Log, 'error'>
  readonly count: (source: ErrorSource) => void
  readonly exit: (status: number) => void
}

/** Whether the operating system rejected a call: Node.js gives such errors the name of the call. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && typeof error.syscall === 'string'
}
