-- The history, with the meaning that migrations/0001-history.sql gives to tables and columns of the same name. Times are
-- milliseconds since the Unix epoch (UTC) in `…_ms`, latencies microseconds in `…_us`; a `bucket` is a stretch of its table's
-- width, numbered from the epoch.

-- Grows with each transaction. Who has read a table reads next what was written by transactions that had not ended then.
CREATE FUNCTION heartline_version() RETURNS BIGINT LANGUAGE sql VOLATILE
  AS 'SELECT pg_current_xact_id()::text::bigint';

CREATE TABLE endpoints (
  endpoint_id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE              -- network/endpoint
);

-- The places that polls come from. 0 is a daemon without `cluster`, -1 is no place: see `polls`.
CREATE TABLE vantages (
  vantage_id SMALLINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE holds (
  endpoint_id INTEGER NOT NULL,
  from_ms BIGINT NOT NULL,
  hold_ms BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, from_ms)
);

-- One row for each poll, in a partition for each day (UTC). Rows of vantage -1 are no polls: they are the state that the places
-- of a cluster found together. Time in a state is counted from rows of the vantages 0 and -1, everything else from the polls.
CREATE TABLE polls (
  at_ms BIGINT NOT NULL,
  endpoint_id INTEGER NOT NULL,
  vantage_id SMALLINT NOT NULL,
  outcome SMALLINT NOT NULL,             -- state + 4 * not fresh + 8 * failure
  latency_us BIGINT,
  height BIGINT,
  lag_blocks BIGINT,
  heartbeat_lag_ms BIGINT,
  contiguous_failures BIGINT,
  PRIMARY KEY (endpoint_id, vantage_id, at_ms)
) PARTITION BY RANGE (at_ms);
-- A roll-up reads what was written together. This index takes no space to speak of.
CREATE INDEX polls_by_time ON polls USING brin (at_ms) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE five_minutes (
  bucket INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  up_ms INTEGER NOT NULL,
  degraded_ms INTEGER NOT NULL,
  down_ms INTEGER NOT NULL,
  stale_ms INTEGER NOT NULL,
  polls INTEGER NOT NULL,
  latency_max_us BIGINT,
  height BIGINT,
  lag_blocks_max BIGINT,
  heartbeat_lag_max_ms BIGINT,
  contiguous_failures_max BIGINT,
  latencies BYTEA,                       -- histogram: see core/latency-histogram.ts
  PRIMARY KEY (endpoint_id, bucket)
);
CREATE INDEX five_minutes_by_time ON five_minutes (bucket);
CREATE TABLE hours (LIKE five_minutes INCLUDING ALL);
CREATE TABLE days (LIKE five_minutes INCLUDING ALL);

CREATE TABLE hash_changes (
  at_ms BIGINT NOT NULL,
  endpoint_id INTEGER NOT NULL,
  vantage_id SMALLINT NOT NULL,
  shard BIGINT NOT NULL,
  height BIGINT NOT NULL,
  hash TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  PRIMARY KEY (at_ms, endpoint_id, vantage_id, shard, height)
);

CREATE TABLE maintenance (
  endpoint_id INTEGER NOT NULL,
  from_ms BIGINT NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, from_ms)
);

-- `token` in the two tables that follow: of the right under which a row was last written, 0 without `cluster`. An older right
-- changes nothing any more.
CREATE TABLE incidents (
  id TEXT COLLATE "C" PRIMARY KEY,       -- pages of a list end at an id, in the same order whatever the locale
  network TEXT NOT NULL,
  endpoint TEXT,
  opened_ms BIGINT NOT NULL,
  closed_ms BIGINT,
  absorbed BOOLEAN NOT NULL,
  token BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL,
  value TEXT NOT NULL                    -- JSON
);
CREATE INDEX incidents_by_time ON incidents (opened_ms, id) WHERE NOT absorbed;
CREATE INDEX incidents_by_network ON incidents (network, opened_ms, id) WHERE NOT absorbed;
CREATE INDEX incidents_by_end ON incidents (closed_ms) WHERE closed_ms IS NOT NULL;
CREATE INDEX incidents_by_version ON incidents (version);

CREATE TABLE notifications (
  nth BIGINT GENERATED ALWAYS AS IDENTITY,   -- the order in which they were added
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  incident TEXT NOT NULL,
  created_ms BIGINT NOT NULL,
  waiting BOOLEAN NOT NULL,
  token BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL,
  value TEXT NOT NULL                    -- JSON
);
CREATE INDEX notifications_waiting ON notifications (nth) WHERE waiting;
CREATE INDEX notifications_by_order ON notifications (nth);
CREATE INDEX notifications_by_incident ON notifications (incident);
CREATE INDEX notifications_by_time ON notifications (created_ms);
CREATE INDEX notifications_by_version ON notifications (version);

CREATE TABLE silences (
  nth BIGINT GENERATED ALWAYS AS IDENTITY,
  id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  endpoint TEXT,
  reason TEXT NOT NULL,
  from_ms BIGINT NOT NULL,
  until_ms BIGINT NOT NULL,
  version BIGINT NOT NULL
);
CREATE INDEX silences_by_end ON silences (until_ms);
CREATE INDEX silences_by_version ON silences (version);

CREATE TABLE notes (
  nth BIGINT GENERATED ALWAYS AS IDENTITY,
  id TEXT PRIMARY KEY,
  incident TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  public BOOLEAN NOT NULL,
  text TEXT NOT NULL,
  version BIGINT NOT NULL
);
CREATE INDEX notes_by_incident ON notes (incident, at_ms);
CREATE INDEX notes_by_time ON notes (at_ms);
CREATE INDEX notes_by_version ON notes (version);

CREATE TABLE aliases (
  network TEXT NOT NULL,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  node_id TEXT,
  caller TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  stale_ms BIGINT,
  stale_reason TEXT,
  version BIGINT NOT NULL,
  PRIMARY KEY (network, alias)
);
CREATE INDEX aliases_by_version ON aliases (version);

CREATE TABLE admin_calls (
  at_ms BIGINT NOT NULL,
  nth INTEGER NOT NULL,
  member TEXT NOT NULL,                  -- '' for a daemon without `cluster`
  network TEXT NOT NULL,
  caller TEXT NOT NULL,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,
  endpoint TEXT,
  node_id TEXT,
  outcome TEXT NOT NULL,
  PRIMARY KEY (at_ms, nth, member)
);

-- What must survive a restart, as JSON. In a cluster, what the next owner of the endpoint in that place starts from.
CREATE TABLE saved_health (
  vantage_id SMALLINT NOT NULL,
  endpoint_id INTEGER NOT NULL,
  at_ms BIGINT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (vantage_id, endpoint_id)
);

CREATE TABLE jobs (
  job TEXT PRIMARY KEY,
  ended_ms BIGINT NOT NULL
);

-- As in SQLite, and `rolling`: the last slot that a roll-up has begun. A poll that arrives late for it is counted by its writer.
CREATE TABLE marks (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
);
