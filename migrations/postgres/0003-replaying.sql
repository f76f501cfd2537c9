-- Whether the member cannot continue incidents yet, because its spool of an earlier run is not in the database.
ALTER TABLE members ADD COLUMN replaying BOOLEAN NOT NULL DEFAULT false;
