-- Times in which no messages are sent about a network or an endpoint. One that was ended early has an earlier `until_ms`.
CREATE TABLE silences (
  id TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  endpoint TEXT,                         -- NULL for the whole network
  reason TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX silences_by_end ON silences (until_ms);
