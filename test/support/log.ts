import type { Log } from '../../src/log.ts'

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

export interface LogLine {
  readonly level: keyof Log
  readonly fields: Record<string, unknown>
  readonly message: string
}

/** Keeps what was logged. */
export function recordingLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: keyof Log) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...fields }, message })
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
