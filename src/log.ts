import { type DestinationStream, pino } from 'pino'
import { build as pretty } from 'pino-pretty'

/** A fixed sentence and fields; names only, never a URL, a header or an id of a caller. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Writes one line per event, as JSON or coloured text, to standard error: standard output is for the answers of commands. */
export function createLogger(
  { level, format }: LoggerOptions,
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger {
  const stream =
    format === 'pretty'
      ? pretty({ destination, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
      : destination
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    setLevel: (next) => {
      logger.level = next
    },
  }
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LOG_FORMATS = ['json', 'pretty'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

export interface LoggerOptions {
  readonly level: LogLevel
  readonly format: LogFormat
}

export interface Logger extends Log {
  setLevel(level: LogLevel): void
}

/** The kind of error, and where it was thrown. Its message stays out of logs: it may hold what a node or a caller sent. */
export function placeOf(error: unknown): string {
  const { error: name, stack } = stackOf(error)
  return `${name} ${stack[0] ?? ''}`.trimEnd()
}

/** As `placeOf`, with the whole stack. */
export function stackOf(error: unknown): { error: string; code?: string; stack: string[] } {
  if (!(error instanceof Error)) return { error: 'not an error', stack: [] }
  const lines = error.stack?.split('\n').map((line) => line.trim()) ?? []
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { error: error.name, ...code, stack: lines.filter((line) => line.startsWith('at ')) }
}
