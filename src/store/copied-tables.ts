import { BUCKET_COLUMNS } from './bucket.ts'
import { MEASURED_COLUMNS } from './poll-columns.ts'
import { SLOT_MS } from './resolution.ts'

/** How a table of SQLite's history is copied: its rows in the order of `key`, with columns named as in PostgreSQL. */
export interface CopiedTable {
  readonly name: string
  /** In SQLite. */
  readonly key: readonly string[]
  readonly columns: readonly CopiedColumn[]
  /** Values that SQLite's table does not have. */
  readonly constants?: Readonly<Record<string, string>>
}

export interface CopiedColumn {
  readonly name: string
  readonly type: 'bigint' | 'boolean' | 'text' | 'bytea'
  /** In SQLite, if it is not the column's name. */
  readonly from?: string
}

const integers = (...names: readonly string[]): CopiedColumn[] => names.map((name) => ({ name, type: 'bigint' }))
const texts = (...names: readonly string[]): CopiedColumn[] => names.map((name) => ({ name, type: 'text' }))
const flag = (name: string): CopiedColumn => ({ name, type: 'boolean' })

const BUCKETS: Omit<CopiedTable, 'name'> = {
  key: ['endpoint_id', 'bucket'],
  columns: [
    ...integers('endpoint_id', 'bucket', ...BUCKET_COLUMNS.filter((name) => name !== 'latencies')),
    { name: 'latencies', type: 'bytea' },
  ],
}
const VERSION = { version: 'heartline_version()' }

/** Every table of SQLite's history, the marks last: with them the copy is complete. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  { name: 'endpoints', key: ['endpoint_id'], columns: [...integers('endpoint_id'), ...texts('name')] },
  { name: 'holds', key: ['endpoint_id', 'from_ms'], columns: integers('endpoint_id', 'from_ms', 'hold_ms') },
  {
    name: 'polls',
    key: ['slot', 'endpoint_id', 'offset_ms'],
    columns: [
      ...integers('endpoint_id', 'outcome', ...MEASURED_COLUMNS),
      { name: 'at_ms', type: 'bigint', from: `slot * ${SLOT_MS} + offset_ms` },
    ],
    constants: { vantage_id: '0' },
  },
  { name: 'five_minutes', ...BUCKETS },
  { name: 'hours', ...BUCKETS },
  { name: 'days', ...BUCKETS },
  {
    name: 'hash_changes',
    key: ['at_ms', 'endpoint_id', 'shard', 'height'],
    columns: [...integers('at_ms', 'endpoint_id', 'shard', 'height'), ...texts('hash', 'previous_hash')],
    constants: { vantage_id: '0' },
  },
  { name: 'maintenance', key: ['endpoint_id', 'from_ms'], columns: integers('endpoint_id', 'from_ms', 'until_ms') },
  {
    name: 'incidents',
    key: ['rowid'],
    columns: [...texts('id', 'network', 'endpoint', 'value'), ...integers('opened_ms', 'closed_ms'), flag('absorbed')],
    constants: VERSION,
  },
  {
    name: 'notifications',
    key: ['rowid'],
    columns: [...texts('id', 'channel', 'incident', 'value'), ...integers('created_ms'), flag('waiting')],
    constants: VERSION,
  },
  {
    name: 'silences',
    key: ['rowid'],
    columns: [...texts('id', 'network', 'endpoint', 'reason'), ...integers('from_ms', 'until_ms')],
    constants: VERSION,
  },
  {
    name: 'notes',
    key: ['rowid'],
    columns: [...texts('id', 'incident', 'text'), ...integers('at_ms'), flag('public')],
    constants: VERSION,
  },
  {
    name: 'aliases',
    key: ['network', 'alias'],
    columns: [
      ...texts('network', 'alias', 'target', 'endpoint', 'node_id', 'caller', 'stale_reason'),
      ...integers('at_ms', 'stale_ms'),
    ],
    constants: VERSION,
  },
  {
    name: 'admin_calls',
    key: ['at_ms', 'nth'],
    columns: [
      ...integers('at_ms', 'nth'),
      ...texts('network', 'caller', 'alias', 'target', 'endpoint', 'node_id', 'outcome'),
    ],
    constants: { member: "''" },
  },
  {
    name: 'saved_health',
    key: ['endpoint_id'],
    columns: [...integers('endpoint_id', 'at_ms'), ...texts('value')],
    constants: { vantage_id: '0' },
  },
  { name: 'jobs', key: ['job'], columns: [...texts('job'), ...integers('ended_ms')] },
  { name: 'marks', key: ['name'], columns: [...texts('name'), ...integers('value')] },
]
