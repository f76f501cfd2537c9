-- What people wrote about incidents.
CREATE TABLE notes (
  id TEXT PRIMARY KEY,
  incident TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  public INTEGER NOT NULL,               -- 1 if the page shows it without the token
  text TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_incident ON notes (incident, at_ms);
CREATE INDEX notes_by_time ON notes (at_ms);
