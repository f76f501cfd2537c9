import type Database from 'better-sqlite3'
import type { NotificationJson } from '../batches.ts'
import type { NotificationQuery } from '../store.ts'

/** Finds notifications, oldest first, in the order in which they were added; those about incidents are the newest. */
export interface NotificationReader {
  notifications(query: NotificationQuery): NotificationJson[]
}

const COLUMNS = 'id, channel, incident, created_ms AS createdAt, waiting, value AS json'

/** Of a row of `notifications`: what was superseded was never heard. False for a damaged row. */
export const IS_HEARD = "CASE WHEN json_valid(value) THEN value ->> '$.state' IS NOT 'superseded' ELSE 0 END"

export function createNotificationReader(db: Database.Database): NotificationReader {
  const unfinished = db.prepare(
    `SELECT id, channel, incident, createdAt, waiting, json
     FROM (SELECT ${COLUMNS}, rowid AS nth FROM notifications
       WHERE waiting = 1 OR rowid IN (SELECT max(rowid) FROM notifications
         WHERE incident IN (SELECT id FROM incidents WHERE closed_ms IS NULL AND absorbed = 0)
           AND ${IS_HEARD}
         GROUP BY incident, channel)
       ORDER BY rowid DESC LIMIT @limit)
     ORDER BY nth`,
  )
  const ofOne = db.prepare(
    `SELECT ${COLUMNS} FROM notifications WHERE incident = @incident ORDER BY rowid DESC LIMIT @limit`,
  )
  const latest = db.prepare(
    `SELECT id, channel, incident, createdAt, waiting, json
     FROM (SELECT ${COLUMNS}, rowid AS nth FROM notifications ORDER BY rowid DESC LIMIT @limit) ORDER BY nth`,
  )

  const byIds = db.prepare(
    `SELECT ${COLUMNS} FROM notifications WHERE id IN (SELECT value FROM json_each(@ids)) ORDER BY rowid LIMIT @limit`,
  )

  // Reads the index of incidents alone, however many rows there are.
  const byName = db.prepare(
    `SELECT ${COLUMNS} FROM notifications WHERE rowid IN (SELECT rowid FROM notifications
       WHERE EXISTS (SELECT 1 FROM json_each(@naming) AS text WHERE instr(incident, text.value) > 0)
       ORDER BY rowid DESC LIMIT @limit)
     ORDER BY rowid`,
  )

  function rowsOf({ about, limit }: NotificationQuery): unknown[] {
    if (typeof about === 'object') {
      if ('ids' in about) return byIds.all({ ids: JSON.stringify(about.ids), limit })
      if ('naming' in about) return byName.all({ naming: JSON.stringify(about.naming), limit })
      return about.incidents.flatMap((incident) => ofOne.all({ incident, limit }).toReversed())
    }
    switch (about) {
      case 'unfinished':
        return unfinished.all({ limit })
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
