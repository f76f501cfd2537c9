import { statSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import type Database from 'better-sqlite3'
import type { QueryCalls } from '../engine.ts'
import { isSoundFile, openReadOnly } from './database.ts'
import { createQueries, readHandlers } from './queries.ts'
import { serveCalls } from './worker-calls.ts'

let path = ''
let open: { readonly db: Database.Database; readonly queries: QueryCalls; readonly inode: number } | null = null

/** Answers queries on a read-only connection, so that slow queries delay neither the writer nor the polls. */
const handlers = {
  open(wanted: string): void {
    path = wanted
  },
  ...readHandlers(answer),
  check: () => isSoundFile(path),
}

export type ReaderCalls = typeof handlers

serveCalls(parentPort, handlers)

function answer<T>(query: (queries: QueryCalls) => T): T {
  const queries = opened()
  try {
    return query(queries)
  } catch (error) {
    close()
    throw error
  }
}

function opened(): QueryCalls {
  const inode = statSync(path).ino
  // The file may have been moved aside and created again.
  if (open !== null && open.inode !== inode) close()
  if (open !== null) return open.queries
  const db = openReadOnly(path)
  try {
    open = { db, queries: createQueries(db), inode }
    return open.queries
  } catch (error) {
    db.close()
    throw error
  }
}

function close(): void {
  const db = open?.db
  open = null
  db?.close()
}
