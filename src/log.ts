import { Writable } from 'node:stream'
import { type DestinationStream, pino } from 'pino'

/** Each entry is a fixed sentence with fields. Fields contain names, never a URL, a header or a caller's id. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Logs one line per event, as JSON or coloured text, to standard error, because commands print to standard output. */
export async function createLogger(
  { level, format }: LoggerOptions,
  destination: DestinationStream = standardError(),
): Promise<Logger> {
  const stream = format === 'pretty' ? await prettyStream(destination) : destination
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

/** What it does not take is lost: a full disk must end neither the daemon nor, once there is room again, its log. */
function standardError(): Writable {
  let lines = open()
  function open() {
    // After an error, pino's stream would keep every line that follows in memory.
    return pino.destination({ dest: 2, sync: true }).once('error', () => {
      lines = open()
    })
  }
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      lines.write(line)
      done()
    },
  })
}

/** Most daemons log JSON: only the others load what writes text. */
async function prettyStream(destination: DestinationStream): Promise<DestinationStream> {
  const { build } = await import('pino-pretty')
  return build({ destination, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LoggerOptions {
  readonly level: LogLevel
  readonly format: 'json' | 'pretty'
}

export interface Logger extends Log {
  setLevel(level: LogLevel): void
}

/** The name of an error and where it was thrown, without its message, which may repeat what a node or caller sent. */
export function placeOf(error: unknown): string {
  const { error: name, stack } = stackOf(error)
  return `${name} ${stack[0] ?? ''}`.trimEnd()
}

/** Like `placeOf`, with the error code and the whole stack. */
export function stackOf(error: unknown): { error: string; code?: string; stack: string[] } {
  if (!(error instanceof Error)) return { error: 'not an error', stack: [] }
  const lines = error.stack?.split('\n').map((line) => line.trim()) ?? []
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { error: error.name, ...code, stack: lines.filter((line) => line.startsWith('at ')) }
}
