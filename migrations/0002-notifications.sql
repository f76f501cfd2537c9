-- What is, was or will be sent to channels: one row for each channel, incident and message. It is written in the transaction
-- of the incident's change, so that no crash loses it. Rows are read in the order in which they were added (`rowid`).
CREATE TABLE notifications (
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  incident TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  waiting INTEGER NOT NULL,              -- 1 until it is sent, rejected, expired or superseded
  value TEXT NOT NULL                    -- JSON
) STRICT;
CREATE INDEX notifications_waiting ON notifications (waiting) WHERE waiting = 1;
CREATE INDEX notifications_by_incident ON notifications (incident);
CREATE INDEX notifications_by_time ON notifications (created_ms);
