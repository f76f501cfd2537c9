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

CREATE TABLE five_minutes (
  endpoint_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  up_ms INTEGER NOT NULL,
  degraded_ms INTEGER NOT NULL,
  down_ms INTEGER NOT NULL,
  maintenance_ms INTEGER NOT NULL,
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
  maintenance_ms INTEGER NOT NULL,
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
  maintenance_ms INTEGER NOT NULL,
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

-- What must survive a restart, as JSON.
CREATE TABLE saved_health (
  endpoint_id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT;

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
