import type Database from 'better-sqlite3'
import { ALIAS_COLUMNS, type AliasRow, aliasOf } from '../reads.ts'
import type { IncidentJson, NotificationJson, RecordEvent } from '../write-events.ts'

/** Writes records in their current state, each of which replaces the stored one. */
export function createRecordWriter(db: Database.Database): (event: RecordEvent) => void {
  const saveIncident = db.prepare(
    `INSERT INTO incidents (id, network, endpoint, opened_ms, closed_ms, absorbed, value)
     VALUES (@id, @network, @endpoint, @openedAt, @closedAt, @absorbed, @json)
     ON CONFLICT (id) DO UPDATE SET network = excluded.network, endpoint = excluded.endpoint, opened_ms = excluded.opened_ms,
       closed_ms = excluded.closed_ms, absorbed = excluded.absorbed, value = excluded.value`,
  )
  const saveNotification = db.prepare(
    `INSERT INTO notifications (id, channel, incident, created_ms, waiting, value)
     VALUES (@id, @channel, @incident, @createdAt, @waiting, @json)
     ON CONFLICT (id) DO UPDATE SET waiting = excluded.waiting, value = excluded.value`,
  )
  const saveSilence = db.prepare(
    `INSERT INTO silences (id, network, endpoint, reason, from_ms, until_ms)
     VALUES (@id, @network, @endpoint, @reason, @from, @until)
     ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms`,
  )
  const saveNote = db.prepare(
    'INSERT OR REPLACE INTO notes (id, incident, at_ms, public, text) VALUES (@id, @incident, @at, @isPublic, @text)',
  )
  const saveAlias = db.prepare(
    `INSERT OR REPLACE INTO aliases (network, alias, target, endpoint, node_id, caller, at_ms, stale_ms, stale_reason)
     VALUES (@network, @alias, @target, @endpoint, @nodeId, @caller, @at, @staleAt, @staleReason)`,
  )
  const addAdminCall = db.prepare(
    `INSERT OR REPLACE INTO admin_calls (at_ms, nth, network, caller, alias, target, endpoint, node_id, outcome)
     VALUES (@at, @nth, @network, @caller, @alias, @target, @endpoint, @nodeId, @outcome)`,
  )

  function notify(notification: NotificationJson): void {
    saveNotification.run({ ...notification, waiting: notification.waiting ? 1 : 0 })
  }

  function saveWithNotifications(incident: IncidentJson, notifications: readonly NotificationJson[]): void {
    saveIncident.run({ ...incident, absorbed: incident.absorbed ? 1 : 0 })
    notifications.forEach(notify)
  }

  return (event) => {
    switch (event.kind) {
      case 'save-incident':
        return saveWithNotifications(event.incident, event.notifications)
      case 'save-notification':
        return notify(event.notification)
      case 'save-silence':
        return void saveSilence.run(event.silence)
      case 'save-note':
        return void saveNote.run({ ...event.note, isPublic: event.note.isPublic ? 1 : 0 })
      case 'save-alias': {
        const { stale, ...alias } = event.alias
        return void saveAlias.run({ ...alias, staleAt: stale?.at ?? null, staleReason: stale?.reason ?? null })
      }
      case 'admin-call':
        return void addAdminCall.run(event.call)
    }
  }
}

export function createAliasReader(db: Database.Database) {
  const select = db.prepare(`SELECT ${ALIAS_COLUMNS} FROM aliases ORDER BY network, alias`)
  return () => (select.all() as AliasRow[]).map(aliasOf)
}
