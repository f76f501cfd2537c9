-- Several daemons that share this database. Times are the database's own: only its clock orders leases.

CREATE TABLE members (
  id TEXT PRIMARY KEY,
  vantage TEXT NOT NULL,
  version TEXT NOT NULL,
  url TEXT,
  networks_digest TEXT NOT NULL,
  impaired BOOLEAN NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  seen_at TIMESTAMPTZ NOT NULL
);

-- `poll`: the right to poll a network from a vantage. `keep`: the right to write its incidents, vantage ''.
CREATE TABLE leases (
  kind TEXT NOT NULL CHECK (kind IN ('poll', 'keep')),
  vantage TEXT NOT NULL,
  network TEXT NOT NULL,
  member TEXT,                           -- NULL when nobody holds it
  token BIGINT NOT NULL,                 -- grows with each claim
  expires_at TIMESTAMPTZ NOT NULL,
  previous_member TEXT,
  PRIMARY KEY (kind, vantage, network)
);

-- Every claim, to tell whether a write that waited was made before a later claim.
CREATE TABLE lease_claims (
  kind TEXT NOT NULL,
  vantage TEXT NOT NULL,
  network TEXT NOT NULL,
  token BIGINT NOT NULL,
  member TEXT NOT NULL,
  claimed_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (kind, vantage, network, token)
);
CREATE INDEX lease_claims_by_time ON lease_claims (claimed_at);

-- The latest that each vantage says of an endpoint; endpoint '' is the network's own standing.
CREATE TABLE votes (
  vantage TEXT NOT NULL,
  network TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  member TEXT NOT NULL,
  token BIGINT NOT NULL,
  polled_at TIMESTAMPTZ NOT NULL,
  version BIGINT NOT NULL,
  value JSONB NOT NULL,
  PRIMARY KEY (vantage, network, endpoint)
);
CREATE INDEX votes_by_version ON votes (version);
