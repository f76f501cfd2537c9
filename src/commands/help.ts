/** The text of `--help` after the options: one entry per section, in the order of a manual page. */
export interface HelpPage {
  /** In the list of commands. */
  readonly summary: string
  readonly about?: string
  readonly examples: readonly (readonly [command: string, does: string])[]
  readonly exit: readonly (readonly [status: string, means: string])[]
  readonly environment?: readonly (readonly [name: string, means: string])[]
  readonly files?: readonly (readonly [name: string, means: string])[]
  readonly signals?: readonly (readonly [name: string, does: string])[]
}

const USAGE = ['64', 'invalid command line'] as const
const BAD_CONFIG = ['78', 'the configuration is invalid; every problem is printed with its key path'] as const
const NO_DAEMON = ['70', 'no daemon answers, or it refuses'] as const
const CONFIG = ['HEARTLINE_CONFIG', 'the configuration file, if -c is not given'] as const
const REFERENCES = ['NAME', 'value of ${NAME} in the configuration'] as const
const ENVIRONMENT = [CONFIG, REFERENCES]

export const HELP = {
  heartline: {
    summary: 'Health monitoring daemon with a dashboard, for blockchain nodes.',
    about: `Without a command: serve if a configuration file is given, demo otherwise.
The file is YAML; \`heartline schema\` describes it.
Every command has a --help of its own.`,
    examples: [
      ['heartline', 'simulated nodes with faults, and the page'],
      ['heartline check-config -c heartline.yaml', 'is the file valid?'],
      ['heartline probe -c heartline.yaml', 'are the nodes healthy now?'],
      ['heartline serve -c heartline.yaml', 'the daemon; its page is at 127.0.0.1:9780'],
    ],
    exit: [
      ['0', 'success'],
      ['1', 'probe: some endpoints degraded; notify test: one failed'],
      ['2', 'probe: some endpoints down; probe --url, init: no chain found'],
      USAGE,
      ['70', 'the command failed'],
      ['75', 'another daemon uses the store; retry later'],
      ['78', 'the configuration is invalid'],
    ],
    environment: ENVIRONMENT,
  },
  serve: {
    summary: 'run the daemon (the default if a configuration file is given)',
    about: `Polls the nodes, serves the page, API and metrics, and runs the gateway if it is
enabled. Logs to stderr, one JSON object per line; writes only its store.`,
    examples: [
      ['heartline serve -c heartline.yaml', 'run until SIGTERM or SIGINT'],
      ['heartline serve -c heartline.yaml --log-level debug', 'with debug logs'],
    ],
    exit: [
      ['0', 'stopped by SIGTERM or SIGINT'],
      USAGE,
      ['70', 'an error after which its state cannot be trusted'],
      ['75', 'another daemon uses the store'],
      ['78', 'the configuration is invalid, or an address or the store cannot be used'],
      ['143', 'a second signal, at least one second later, ended it at once'],
    ],
    environment: [
      ...ENVIRONMENT,
      ['NOTIFY_SOCKET', 'set by systemd: readiness is reported with systemd-notify'],
      ['WATCHDOG_USEC', 'set by systemd: three signs of life are sent in this time'],
    ],
    files: [
      ['heartline.db', 'the history (store.path)'],
      ['heartline.db-wal, -shm', 'part of it while the daemon runs, and after a crash'],
      ['heartline.db.lock', 'locked while a daemon uses the store'],
      ['heartline.db.reserve', '2 MiB that are freed when the disk is full'],
    ],
    signals: [
      ['SIGTERM, SIGINT', 'stops: finishes open requests, writes the history, exits'],
      ['SIGHUP', 'reloads the configuration; an invalid file changes nothing'],
    ],
  },
  demo: {
    summary: 'run simulated nodes of all three families with recurring faults, and the daemon',
    about: `Nine nodes on loopback ports; their faults repeat every three minutes. It begins
with 90 days of simulated history. The last line printed is the page's address.
Leaves no files behind. With --cluster: three daemons as processes, without a past
and without a gateway; PostgreSQL must be installed, but no server need run.`,
    examples: [
      ['heartline demo', 'page at 127.0.0.1:9780, or at any free port'],
      ['heartline demo --port 8080', 'page at 127.0.0.1:8080'],
      ['heartline demo --cluster', 'prints the page and the process of each member'],
    ],
    exit: [['0', 'stopped by a signal'], USAGE, ['70', 'the start failed']],
    environment: [['TMPDIR', 'folder of its store while it runs']],
    signals: [['SIGTERM, SIGINT, SIGHUP', 'stops']],
  },
  probe: {
    summary: 'poll once and print the results; exit status 0 all up, 1 some degraded, 2 some down',
    about: `Polls each endpoint once and prints the verdict of that single poll; the daemon
waits for several polls in a row. All endpoints of a network are polled, because
lag is relative to the other endpoints; only the selected ones are printed.
With --url, no file is read: the family and the chain are found out, and the YAML
for the configuration is printed. It shows no URL that may contain a key.`,
    examples: [
      ['heartline probe --url http://127.0.0.1:8545', 'a node that is not configured yet'],
      ['heartline probe -c heartline.yaml', 'all endpoints'],
      ['heartline probe -c heartline.yaml ethereum avalanche/own-1', 'one network and one endpoint'],
      ['heartline probe -c heartline.yaml --json | jq .endpoints', 'for scripts'],
    ],
    exit: [
      ['0', 'all up'],
      ['1', 'some degraded'],
      ['2', 'some down, or no chain found at a URL'],
      ['64', 'no such network or endpoint, or invalid command line'],
      BAD_CONFIG,
    ],
    environment: ENVIRONMENT,
  },
  init: {
    summary: 'write a first configuration for the nodes at the given URLs; never overwrites a file',
    about: `Finds out the family, chain and block time of each node, as probe --url does, and
writes the file (heartline.yaml, or -c FILE). Only its owner may read it.`,
    examples: [
      ['heartline init --url http://127.0.0.1:8545', 'one node'],
      ['heartline init --url http://10.0.0.5:9650 --url https://rpc.example.org/v1', 'several; one network per chain'],
    ],
    exit: [
      ['0', 'the file is written'],
      ['2', 'no chain found at a URL'],
      ['64', 'the file exists, or invalid command line'],
      ['70', 'the file cannot be written'],
    ],
    environment: [['HEARTLINE_CONFIG', 'the file to write, if -c is not given']],
  },
  'check-config': {
    summary: 'validate the file and print every problem with its key path; exit status 78 if there is one',
    about: `Reads the file as serve does, with the environment and all files that it names.
Sends no requests. Values are never printed, because any value may be a secret.`,
    examples: [
      ['heartline check-config -c heartline.yaml', 'every mistake at once, or "valid"'],
      ['heartline check-config -c new.yaml && systemctl reload heartline', 'before a reload'],
    ],
    exit: [['0', 'valid; warnings are on stderr'], USAGE, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  simulate: {
    summary: 'run one simulated node, with a control interface to inject faults',
    about: `A node on a loopback port that answers like a real one, with faults that you
inject at its control address. docs/simulator.md lists every fault.`,
    examples: [
      ['heartline simulate --family ethereum --port 8545', 'a node; prints its URL and control address'],
      ['heartline simulate --family avalanche --port 9650 --block-time 500ms', 'a node with fast blocks'],
      ['heartline simulate --family avalanche --port 9650 --api-admin-enabled=true', 'a node with /ext/admin'],
      ['heartline simulate --family multiversx --port 8080 --kind observer --shard 1', 'an observer'],
    ],
    exit: [['0', 'stopped by a signal'], USAGE, ['70', 'cannot listen on the port']],
    signals: [['SIGTERM, SIGINT', 'stops']],
  },
  backup: {
    summary: 'write a consistent copy of the store, also while the daemon runs',
    about: `Writes a consistent, verified copy of the store, also while a daemon runs. FILE
appears when it is complete; an existing file is never overwritten. To restore:
stop the daemon, move heartline.db, -wal and -shm away, copy FILE to its place.`,
    examples: [['heartline backup -c heartline.yaml /backup/heartline-$(date +%F).db', 'a copy named by date']],
    exit: [
      ['0', 'the copy is complete'],
      ['64', 'FILE exists, or invalid command line'],
      ['70', 'the copy failed'],
      ['78', 'the configuration is invalid, or its store is in memory'],
    ],
    environment: ENVIRONMENT,
  },
  'migrate-store': {
    summary: 'copy a history from SQLite to PostgreSQL',
    about: `Copies the history to a PostgreSQL database without one, for store.url. Stop the
daemon first. Stopped or failed, it goes on where it was when it is run again.
Without --to, the address is DATABASE_URL, which no list of processes shows.`,
    examples: [
      ['heartline migrate-store --from heartline.db', 'to DATABASE_URL'],
      ['heartline migrate-store --from heartline.db --to postgres://localhost/heartline', 'without a password'],
    ],
    exit: [
      ['0', 'copied; counts and sums agree'],
      ['64', 'no such file, or invalid command line'],
      ['70', 'the copy failed or was stopped'],
      ['75', 'a daemon uses the file'],
      ['78', 'the file or the database cannot be used'],
    ],
    environment: [['DATABASE_URL', 'the address of the database, if --to is not given']],
    signals: [['SIGTERM, SIGINT', 'stops; what is copied stays']],
  },
  caller: {
    summary: '`caller new NAME` prints a new endpoint_id for a caller of the gateway, and the YAML for it',
    about: 'A caller may use the gateway: it has a name and an endpoint_id.',
    examples: [['heartline caller new wallet', 'a new endpoint_id and the YAML for it']],
    exit: [['0', 'printed'], USAGE],
  },
  new: {
    summary: 'print a new endpoint_id for a caller of this name, and the YAML for it',
    about: 'The endpoint_id is a password: it is printed once and stored nowhere.',
    examples: [
      ['heartline caller new wallet', 'prints the YAML for the configuration'],
      ['heartline caller new wallet >> heartline.yaml', 'if the file has no gateway section yet'],
    ],
    exit: [
      ['0', 'printed'],
      ['64', 'invalid name or command line'],
    ],
  },
  notify: {
    summary: '`notify test [CHANNEL…]` sends a test message through each channel',
    about: 'Channels are configured below notify.channels.',
    examples: [['heartline notify test -c heartline.yaml', 'a test message through each channel']],
    exit: [['0', 'all were sent'], ['1', 'one failed'], USAGE, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  test: {
    summary: 'send a test message through each channel, once; exit status 1 if one failed',
    about: 'Prints a line for each channel. Tries once, and opens no store.',
    examples: [
      ['heartline notify test -c heartline.yaml', 'through every channel'],
      ['heartline notify test ops pager -c heartline.yaml', 'through these two'],
    ],
    exit: [['0', 'all were sent'], ['1', 'one failed'], ['64', 'no such channel, or invalid command line'], BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  silence: {
    summary: 'stop messages about a network or an endpoint for a time; `silence list`, `silence end ID`',
    about: `The running daemon sends no messages about the network or the endpoint in this
time. Verdicts and history do not change. If an incident is still open at the end,
it is sent then. The command calls the daemon at server.listen, with server.token.`,
    examples: [
      ['heartline silence -c heartline.yaml ethereum/own-1 --for 2h --reason upgrade', 'one endpoint'],
      ['heartline silence -c heartline.yaml ethereum --for 30m --reason "fork drill"', 'a whole network'],
      ['heartline silence list -c heartline.yaml', 'those that hold now'],
      ['heartline silence end -c heartline.yaml 1a2b3c4d', 'end one early'],
    ],
    exit: [['0', 'it holds'], ['64', 'no such network or endpoint, or invalid command line'], NO_DAEMON, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  note: {
    summary: 'add a note to an incident: it is in its page, the feed and the post-mortem',
    about: `The command calls the daemon at server.listen, with server.token. A note has the
time, and no author. Without --public, it is shown only to those who may see all.`,
    examples: [
      ['heartline note -c heartline.yaml ID "the provider confirms it"', 'for those with the token'],
      ['heartline note -c heartline.yaml ID "being repaired" --public', 'for everyone'],
    ],
    exit: [['0', 'added'], ['64', 'no such incident, or invalid command line'], NO_DAEMON, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  list: {
    summary: 'print the silences that hold now',
    about: 'The one that ends first is the first.',
    examples: [['heartline silence list -c heartline.yaml', 'a table']],
    exit: [['0', 'printed'], USAGE, NO_DAEMON, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  end: {
    summary: 'end a silence: messages are sent again',
    about: 'If an incident is still open, it is sent now, unless another silence holds.',
    examples: [['heartline silence end -c heartline.yaml 1a2b3c4d', 'end this one']],
    exit: [['0', 'it ended'], ['64', 'no such silence holds, or invalid command line'], NO_DAEMON, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  schema: {
    summary: 'print the JSON Schema of the configuration file',
    about: `For completion and validation in an editor. First line of the configuration:
# yaml-language-server: $schema=heartline.schema.json`,
    examples: [['heartline schema > heartline.schema.json', 'the schema for an editor']],
    exit: [['0', 'printed'], USAGE],
  },
} as const satisfies Record<string, HelpPage>

/** The sections as text, printed after the options. */
export function helpText({ about, examples, exit, environment, files, signals }: HelpPage): string {
  return [
    about === undefined ? null : `\n${about}`,
    commands(examples),
    section('Exit status', exit),
    section('Environment', environment),
    section('Files', files),
    section('Signals', signals),
  ]
    .filter((part) => part !== null)
    .join('\n')
}

/** Puts each explanation below its command, because both do not fit on one line. */
function commands(examples: HelpPage['examples']): string {
  return `\nExamples:\n${examples.map(([command, does]) => `  ${command}\n      ${does}`).join('\n')}`
}

function section(title: string, rows: readonly (readonly [string, string])[] | undefined): string | null {
  if (rows === undefined) return null
  const width = Math.max(...rows.map(([name]) => name.length))
  return `\n${title}:\n${rows.map(([name, means]) => `  ${name.padEnd(width)}  ${means}`).join('\n')}`
}
