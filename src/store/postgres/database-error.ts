import { StoreError, type StoreTrouble } from '../store.ts'

/** What PostgreSQL or the way to it failed with. Repeats neither the address nor a value, as messages of errors do. */
export class DatabaseError extends Error {
  readonly trouble: StoreTrouble
  /** The SQLSTATE, the system's error code, or a name. */
  readonly code: string

  constructor(trouble: StoreTrouble, code: string) {
    super(`PostgreSQL: ${code}`)
    this.name = 'DatabaseError'
    this.trouble = trouble
    this.code = code
  }
}

/** An error of the client as a DatabaseError; a refusal, and a mistake in our own code, as they are. */
export function databaseErrorOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('PostgreSQL: no error')
  const isKept = [DatabaseError, StoreError, TypeError, RangeError].some((kind) => error instanceof kind)
  if (isKept) return error
  const code = codeOf(error)
  return new DatabaseError(troubleOf(code), code)
}

/** What a person must fix before anything can be stored; `null` for any other error. */
export function refusalOf(error: unknown): StoreError | null {
  if (error instanceof StoreError) return error
  if (!(error instanceof DatabaseError)) return null
  const { code, trouble } = error
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new StoreError('unknown-host', `the name of the PostgreSQL server cannot be resolved (${code})`)
  }
  if (code === 'ENOENT' || code === 'EACCES') {
    return new StoreError('bad-url', `a file that the address names for TLS cannot be read (${code})`)
  }
  if (code.startsWith('28')) return new StoreError('refused-login', `PostgreSQL refuses the user or password (${code})`)
  if (code === '3D000') return new StoreError('missing-database', 'the database does not exist: create it')
  if (code === '3F000') {
    return new StoreError('missing-database', `the database has no schema for the user: create "public" (${code})`)
  }
  if (trouble === 'read-only') return new StoreError('read-only', `the user may not change this database (${code})`)
  if (code === ONLY_READS) {
    const message = `no server of the address accepts writes: a standby only reads (${code})`
    return new StoreError('unreachable', message)
  }
  if (trouble === 'unreachable') return new StoreError('unreachable', `PostgreSQL cannot be reached (${code})`)
  return null
}

/** What the client says of a server without TLS: it has no code. */
export function lacksTls(error: unknown): boolean {
  return error instanceof Error && error.message.includes('does not support SSL')
}

/** What a statement that changes something fails with on a standby. */
export const ONLY_READS = '25006'

function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code
  // Errors of the client itself have neither a code nor values.
  if (/timeout/i.test(error.message)) return 'timeout'
  return lacksTls(error) ? 'no-tls' : 'connection'
}

function troubleOf(code: string): StoreTrouble {
  if (!/^[0-9A-Z]{5}$/.test(code) || /^E[A-Z]{4}$/.test(code)) return 'unreachable'
  // Connection, login, database, shutdown and start, too many connections.
  if (/^(08|28|3D|57P|53300)/.test(code)) return 'unreachable'
  if (code === ONLY_READS) return 'unreachable'
  if (code === '42501') return 'read-only'
  if (code === '53100') return 'full'
  if (/^(57014|55P03|40)/.test(code)) return 'busy'
  if (code === '58030') return 'io'
  return /^XX00[12]/.test(code) ? 'corrupt' : 'other'
}
