import { statSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import type Database from 'better-sqlite3'
import { backupStore } from './backup.ts'
import { openReadOnly } from './database.ts'
import type { ReaderCalls } from './messages.ts'
import { createReading, type Reading } from './reading.ts'
import { serveThread } from './thread.ts'

/** Answers questions on a connection that cannot write, so that a slow one holds up neither the writer nor the polls. */
interface Session {
  readonly db: Database.Database
  readonly reading: Reading
  readonly inode: number
}

let path = ''
let session: Session | null = null

function opened(): Session {
  const inode = statSync(path).ino
  // The file may have been moved aside and begun anew.
  if (session !== null && session.inode !== inode) drop()
  if (session === null) {
    const db = openReadOnly(path)
    try {
      session = { db, reading: createReading(db), inode }
    } catch (error) {
      db.close()
      throw error
    }
  }
  return session
}

function drop(): void {
  const db = session?.db
  session = null
  db?.close()
}

function ask<T>(question: (session: Session) => T): T {
  const current = opened()
  try {
    return question(current)
  } catch (error) {
    drop()
    throw error
  }
}

if (parentPort !== null) {
  serveThread<ReaderCalls>(parentPort, {
    open(wanted) {
      path = wanted.path
      return null
    },
    history: ({ query, now }) => ask(({ reading }) => reading.history(query, now)),
    polls: ({ query }) => ask(({ reading }) => reading.polls(query)),
    availability: ({ endpoints, now }) => ask(({ reading }) => reading.availability(endpoints, now)),
    incidents: ({ query }) => ask(({ reading }) => reading.incidents(query)),
    incident: ({ id }) => ask(({ reading }) => reading.incident(id)),
    async backup({ file }) {
      await backupStore(path, file)
      return null
    },
  })
}
