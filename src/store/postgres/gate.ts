import type { Log } from '../../log.ts'
import type { Failed, Reply } from '../engine.ts'
import { StoreError, type StoreRefusal, type StoreTrouble } from '../store.ts'
import type { Database } from './database.ts'
import { DatabaseError, refusalOf } from './database-error.ts'
import { migrate, postgresMigrations, refuseHalfCopy } from './migrate.ts'

export type Gate = ReturnType<typeof createGate>

/** Lets nothing through to tables that were not brought up to date, or that a daemon uses which excludes this one. */
export function createGate(database: Database, isAlone: boolean, log: Log) {
  let isOpen = false
  let opening: Promise<void> | null = null
  let refused = ''

  function shut(): void {
    isOpen = false
  }

  // Meanwhile another daemon may take the database.
  database.onChange((reachable) => (reachable ? undefined : shut()))

  async function prepare(): Promise<void> {
    await migrate(database, postgresMigrations())
    if (await database.join(shut)) return refuseHalfCopy(database.query)
    throw new StoreError(
      'store-in-use',
      isAlone ? 'another daemon uses the database, and this one has no `cluster`' : EXCLUDED,
    )
  }

  return {
    isOpen: () => isOpen,
    open(): Promise<void> {
      if (isOpen) return Promise.resolve()
      opening ??= prepare()
        .then(() => {
          isOpen = true
          refused = ''
        })
        .finally(() => {
          opening = null
        })
      return opening
    },
    /** Of an opening in the background, which is tried again. */
    report(error: unknown): void {
      const refusal = refusalOf(error)
      if (refusal === null || refusal.kind === 'unreachable' || refusal.kind === refused) return
      refused = refusal.kind
      log.error({ refusal: refusal.kind }, 'the database cannot be used: rows wait until a person corrects this')
    },
  }
}

const EXCLUDED = 'a daemon without `cluster` uses the database'
const AWAY: Failed = { ok: false, trouble: 'unreachable', code: 'away' }

/** Calls the database; while it is away, calls fail at once. */
export function createCall(database: Database, gate: Gate) {
  return async <T>(work: () => Promise<T>): Promise<Reply<T>> => {
    if (!database.reachable) return AWAY
    try {
      await gate.open()
      return { ok: true, value: await work() }
    } catch (error) {
      gate.report(error)
      return failedOf(error)
    }
  }
}

export function failedOf(error: unknown): Failed {
  if (error instanceof DatabaseError) return { ok: false, trouble: error.trouble, code: error.code }
  if (error instanceof StoreError) return { ok: false, trouble: troubleOf(error.kind), code: error.kind }
  return { ok: false, trouble: 'other', code: error instanceof Error ? error.name : 'unknown' }
}

function troubleOf(refusal: StoreRefusal): StoreTrouble {
  switch (refusal) {
    case 'unreachable':
    case 'unknown-host':
    case 'refused-login':
    case 'missing-database':
      return 'unreachable'
    case 'read-only':
      return 'read-only'
    case 'store-in-use':
      return 'busy'
    case 'bad-spool':
    case 'bad-url':
    case 'foreign-database':
    case 'network-disk':
    case 'newer-schema':
    case 'postgres-too-old':
    case 'sqlite-too-old':
      return 'other'
  }
}

/** Whether PostgreSQL cannot store these values, or a constraint forbids them: whatever else is wrong, rows wait for it. */
export function isRejection({ code }: Failed): boolean {
  return /^2[23][0-9A-Z]{3}$/.test(code)
}
