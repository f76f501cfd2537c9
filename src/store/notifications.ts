import type Database from 'better-sqlite3'
import type { NotificationJson } from './batches.ts'
import type { NotificationQuery } from './store.ts'

/** Finds notifications, oldest first, in the order in which they were added. */
export interface NotificationReader {
  notifications(query: NotificationQuery): NotificationJson[]
}

const COLUMNS = 'id, channel, incident, created_ms AS createdAt, waiting, value AS json'

export function createNotificationReader(db: Database.Database): NotificationReader {
  const waiting = db.prepare(`SELECT ${COLUMNS} FROM notifications WHERE waiting = 1 ORDER BY rowid LIMIT @limit`)
  const ofOpen = db.prepare(
    `SELECT ${COLUMNS} FROM notifications
     WHERE incident IN (SELECT id FROM incidents WHERE closed_ms IS NULL) ORDER BY rowid LIMIT @limit`,
  )
  const ofSome = db.prepare(
    `SELECT ${COLUMNS} FROM notifications
     WHERE incident IN (SELECT value FROM json_each(@incidents)) ORDER BY rowid LIMIT @limit`,
  )
  const latest = db.prepare(
    `SELECT id, channel, incident, createdAt, waiting, json
     FROM (SELECT ${COLUMNS}, rowid AS nth FROM notifications ORDER BY rowid DESC LIMIT @limit) ORDER BY nth`,
  )

  function rowsOf({ about, limit }: NotificationQuery): unknown[] {
    if (typeof about === 'object') return ofSome.all({ incidents: JSON.stringify(about.incidents), limit })
    switch (about) {
      case 'waiting':
        return waiting.all({ limit })
      case 'open-incidents':
        return ofOpen.all({ limit })
      case 'latest':
        return latest.all({ limit })
    }
  }

  return {
    notifications: (query) => (rowsOf(query) as Row[]).map((row) => ({ ...row, waiting: row.waiting === 1 })),
  }
}

type Row = Omit<NotificationJson, 'waiting'> & { readonly waiting: 0 | 1 }

/** Writes a notification in its current state, which replaces the stored one. */
export function createNotificationWriter(db: Database.Database): (notification: NotificationJson) => void {
  const save = db.prepare(
    `INSERT INTO notifications (id, channel, incident, created_ms, waiting, value)
     VALUES (@id, @channel, @incident, @createdAt, @waiting, @json)
     ON CONFLICT (id) DO UPDATE SET waiting = excluded.waiting, value = excluded.value`,
  )
  return (notification) => void save.run({ ...notification, waiting: notification.waiting ? 1 : 0 })
}
