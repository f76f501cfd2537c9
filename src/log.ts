/** A fixed sentence and fields; names only, never a URL, a header or an id of a caller. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
