import Database from 'better-sqlite3'
import { readMigrations, SQLITE_MIGRATIONS } from '../../../src/store/migrations.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'

/** Runs the migrations, and is killed after so many statements of one of them. */
const [path = '', version = '', statements = ''] = process.argv.slice(2)
const db = new Database(path)
db.pragma('journal_mode = WAL')
db.function('die', () => process.kill(process.pid, 'SIGKILL') && 0)
const migrations = readMigrations(SQLITE_MIGRATIONS).map((migration) => {
  if (migration.version !== Number(version)) return migration
  const parts = migration.sql.split(/;$/m)
  parts.splice(Number(statements), 0, '\nSELECT die()')
  return { ...migration, sql: parts.join(';') }
})
migrate(db, migrations)
