import { type DestinationStream, pino } from 'pino'
import { build as pretty } from 'pino-pretty'
import type { Log } from './log.ts'

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

/** One line an event: JSON for machines, or coloured for people. Standard error, so that a command's answer stays alone on standard output. */
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
