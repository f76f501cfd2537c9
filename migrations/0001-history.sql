-- The history. Times are milliseconds since the Unix epoch (UTC) in `…_ms`, latencies microseconds in `…_us`.
-- A `slot` is a stretch of five minutes, numbered from the epoch; a `bucket` likewise a stretch of its table's width.

CREATE TABLE endpoints (
  endpoint_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE              -- network/endpoint
) STRICT;

-- How long a result holds, from when on: it changes with the configured interval.
CREATE TABLE holds (
  endpoint_id INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  hold_ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, from_ms)
) STRICT, WITHOUT ROWID;

-- One row for each poll. The slot comes first: what is written together lies together, and retention cuts off one end.
CREATE TABLE polls (
  slot INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  offset_ms INTEGER NOT NULL,            -- since the start of the slot
  outcome INTEGER NOT NULL,              -- state + 4 * not fresh + 8 * failure; 0 is up, fresh and without failure
  latency_us INTEGER,
  height INTEGER,
  lag_blocks INTEGER,
  heartbeat_lag_ms INTEGER,
  contiguous_failures INTEGER,
  PRIMARY KEY (slot, endpoint_id, offset_ms)
) STRICT, WITHOUT ROWID;

-- Time in maintenance is in none of the parts: it is added from `maintenance` when it is read.
CREATE TABLE five_minutes (
  endpoint_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  up_ms INTEGER NOT NULL,
  degraded_ms INTEGER NOT NULL,
  down_ms INTEGER NOT NULL,
  stale_ms INTEGER NOT NULL,             -- part of the time up or degraded
  polls INTEGER NOT NULL,
  latencies BLOB,                        -- histogram: see core/latency-histogram.ts
  latency_max_us INTEGER,
  height INTEGER,                        -- the last one
  lag_blocks_max INTEGER,
  heartbeat_lag_max_ms INTEGER,
  contiguous_failures_max INTEGER,
  PRIMARY KEY (endpoint_id, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE hours (
  endpoint_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  up_ms INTEGER NOT NULL,
  degraded_ms INTEGER NOT NULL,
  down_ms INTEGER NOT NULL,
  stale_ms INTEGER NOT NULL,
  polls INTEGER NOT NULL,
  latencies BLOB,
  latency_max_us INTEGER,
  height INTEGER,
  lag_blocks_max INTEGER,
  heartbeat_lag_max_ms INTEGER,
  contiguous_failures_max INTEGER,
  PRIMARY KEY (endpoint_id, bucket)
) STRICT, WITHOUT ROWID;

-- Kept as long as the hours: ninety days of a thousand endpoints are then 90,000 rows to add up, not two million.
CREATE TABLE days (
  endpoint_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  up_ms INTEGER NOT NULL,
  degraded_ms INTEGER NOT NULL,
  down_ms INTEGER NOT NULL,
  stale_ms INTEGER NOT NULL,
  polls INTEGER NOT NULL,
  latencies BLOB,
  latency_max_us INTEGER,
  height INTEGER,
  lag_blocks_max INTEGER,
  heartbeat_lag_max_ms INTEGER,
  contiguous_failures_max INTEGER,
  PRIMARY KEY (endpoint_id, bucket)
) STRICT, WITHOUT ROWID;

-- Another hash than before at the same height.
CREATE TABLE hash_changes (
  at_ms INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  shard INTEGER NOT NULL,                -- -1 where the chain is not sharded
  height INTEGER NOT NULL,
  hash TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  PRIMARY KEY (at_ms, endpoint_id, shard, height)
) STRICT, WITHOUT ROWID;

-- Planned maintenance of an endpoint, [from_ms, until_ms): those of one endpoint neither overlap nor touch.
CREATE TABLE maintenance (
  endpoint_id INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, from_ms)
) STRICT, WITHOUT ROWID;

-- Incidents as they stand now, open and closed. The indexes carry what the list asks for, so that a large `value` is read
-- only of those that are shown; incidents that are part of another are not listed.
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  endpoint TEXT,                         -- NULL for a network-wide one
  opened_ms INTEGER NOT NULL,
  closed_ms INTEGER,                     -- NULL while it is open
  absorbed INTEGER NOT NULL,
  value TEXT NOT NULL                    -- JSON
) STRICT;
CREATE INDEX incidents_by_time ON incidents (opened_ms, id, closed_ms) WHERE absorbed = 0;
CREATE INDEX incidents_by_network ON incidents (network, opened_ms, id, closed_ms) WHERE absorbed = 0;
CREATE INDEX incidents_by_endpoint ON incidents (network, endpoint, opened_ms, id, closed_ms) WHERE absorbed = 0;
CREATE INDEX incidents_open ON incidents (opened_ms, id) WHERE absorbed = 0 AND closed_ms IS NULL;
CREATE INDEX incidents_by_end ON incidents (closed_ms) WHERE closed_ms IS NOT NULL;

-- What must survive a restart, as JSON.
CREATE TABLE saved_health (
  endpoint_id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT;

-- Names that nodes answer to below /ext/, as the gateway's callers had them made. A node forgets its own when it restarts: then
-- the row says since when, and how that was noticed.
CREATE TABLE aliases (
  network TEXT NOT NULL,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  node_id TEXT,
  caller TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  stale_ms INTEGER,                      -- NULL while it holds
  stale_reason TEXT,
  PRIMARY KEY (network, alias)
) STRICT, WITHOUT ROWID;

-- Every call of a node's admin API that came through the gateway.
CREATE TABLE admin_calls (
  at_ms INTEGER NOT NULL,
  nth INTEGER NOT NULL,                  -- tells calls of one millisecond apart
  network TEXT NOT NULL,
  caller TEXT NOT NULL,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,
  endpoint TEXT,                         -- NULL where nobody was asked
  node_id TEXT,
  outcome TEXT NOT NULL,
  PRIMARY KEY (at_ms, nth)
) STRICT, WITHOUT ROWID;

-- When each job last ended well.
CREATE TABLE jobs (
  job TEXT PRIMARY KEY,
  ended_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where the tiers stand: `rolled_to` and `raw_from` in slots, `five_minutes_from` and `hours_from` in buckets of those tables,
-- `clean` is 1 while no daemon has the store open. `clock_ms` is the last wall clock that a job believed; while it is doubted
-- `doubted_from_ms` and `doubted_ms` say since when, and when last.
CREATE TABLE marks (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
