/** What `--help` says of a command beyond its options. One entry a section, in the order in which manual pages have them. */
export interface HelpPage {
  readonly about?: string
  readonly examples: readonly (readonly [command: string, does: string])[]
  readonly exit: readonly (readonly [status: string, means: string])[]
  readonly environment?: readonly (readonly [name: string, means: string])[]
  readonly files?: readonly (readonly [name: string, means: string])[]
  readonly signals?: readonly (readonly [name: string, does: string])[]
}

const USAGE = ['64', 'the command line is wrong'] as const
const BAD_CONFIG = ['78', 'the configuration is wrong; every problem is told with its key path'] as const
const CONFIG = ['HEARTLINE_CONFIG', 'the configuration file, where -c is not given'] as const
const REFERENCES = ['NAME', 'whatever the configuration refers to as ${NAME}'] as const
const ENVIRONMENT = [CONFIG, REFERENCES]

export const HELP = {
  heartline: {
    about: `Without a command: serve where a configuration file is given, demo otherwise.
The file is YAML; \`heartline schema\` describes it.
Every command has a --help of its own.`,
    examples: [
      ['heartline', 'simulated nodes with faults, and the page over them'],
      ['heartline check-config -c heartline.yaml', 'is the file good?'],
      ['heartline probe -c heartline.yaml', 'are the nodes well, now?'],
      ['heartline serve -c heartline.yaml', 'the daemon; its page is at 127.0.0.1:9780'],
    ],
    exit: [
      ['0', 'it did what it should'],
      ['1, 2', 'of probe alone: some endpoints degraded, some down'],
      USAGE,
      ['70', 'the command failed'],
      ['75', 'another daemon has the store: later it may work'],
      ['78', 'the configuration must be changed first'],
    ],
    environment: ENVIRONMENT,
  },
  serve: {
    about: `Polls the nodes, serves page, API and metrics, and is the gateway where that
is enabled. Logs to stderr, one JSON object a line; writes nothing but its store.`,
    examples: [
      ['heartline serve -c heartline.yaml', 'until it is asked to stop'],
      ['heartline serve -c heartline.yaml --log-level debug', 'and tells more'],
    ],
    exit: [
      ['0', 'asked to stop by SIGTERM or SIGINT, and did'],
      USAGE,
      ['75', 'another daemon has the store'],
      ['78', 'the configuration is wrong, an address or the store cannot be used'],
      ['143', 'asked a second time, a second or more later: left at once'],
    ],
    environment: [
      ...ENVIRONMENT,
      ['NOTIFY_SOCKET', 'set by systemd: it is told of readiness, by systemd-notify'],
      ['WATCHDOG_USEC', 'set by systemd: it gets signs of life three times in that'],
    ],
    files: [
      ['heartline.db', 'the history, where store.path says nothing else'],
      ['heartline.db-wal, -shm', 'part of it while the daemon runs, and after a crash'],
      ['heartline.db.lock', 'held while a daemon has the store'],
      ['heartline.db.reserve', '2 MiB that are given up on a full disk'],
    ],
    signals: [
      ['SIGTERM, SIGINT', 'stops: answers what is asked, writes the history, leaves'],
      ['SIGHUP', 'reads the configuration again; a bad one changes nothing'],
    ],
  },
  demo: {
    about: `Nine nodes on loopback ports whose faults come and go in three minutes. The
last line printed is the page's address. Leaves nothing behind.`,
    examples: [
      ['heartline demo', 'page at 127.0.0.1:9780, or at any free port'],
      ['heartline demo --port 8080', 'page at 127.0.0.1:8080'],
    ],
    exit: [['0', 'asked to stop, and did'], USAGE, ['70', 'it could not be started']],
    environment: [['TMPDIR', 'where its store lives while it runs']],
    signals: [['SIGTERM, SIGINT', 'stops']],
  },
  probe: {
    about: `Asks each endpoint once and judges by that alone, while the daemon waits for
several polls in a row. Of a network all endpoints are polled, since a lag shows
only beside the others; shown are those that were asked for.`,
    examples: [
      ['heartline probe -c heartline.yaml', 'everything'],
      ['heartline probe -c heartline.yaml ethereum avalanche/own-1', 'a network and an endpoint'],
      ['heartline probe -c heartline.yaml --json | jq .endpoints', 'for scripts'],
    ],
    exit: [
      ['0', 'all are up'],
      ['1', 'some are degraded'],
      ['2', 'some are down'],
      ['64', 'no such network or endpoint, or the command line is wrong'],
      BAD_CONFIG,
    ],
    environment: ENVIRONMENT,
  },
  'check-config': {
    about: `Reads the file as serve would, with the environment and all files that it
names, and asks no node. Values are never printed: any may be a secret.`,
    examples: [
      ['heartline check-config -c heartline.yaml', 'every mistake at once, or "valid"'],
      ['heartline check-config -c new.yaml && systemctl reload heartline', 'before a reload'],
    ],
    exit: [['0', 'valid; warnings are on stderr'], USAGE, BAD_CONFIG],
    environment: ENVIRONMENT,
  },
  simulate: {
    about: `A node on a loopback port that answers as a real one does, and fails as told at
its control address: for rehearsing alerts. docs/simulator.md has every fault.`,
    examples: [
      ['heartline simulate --family ethereum --port 8545', 'a node; prints its url and control'],
      ['heartline simulate --family avalanche --port 9650 --block-time 500ms', 'a fast one'],
      ['heartline simulate --family multiversx --port 8080 --kind observer --shard 1', 'an observer'],
    ],
    exit: [['0', 'asked to stop, and did'], USAGE, ['70', 'it could not listen on the port']],
    signals: [['SIGTERM, SIGINT', 'stops']],
  },
  backup: {
    about: `One consistent moment of the store, checked and flushed to disk, whether a
daemon runs or not. FILE gets its name last, and is never replaced. To restore:
stop the daemon, move heartline.db, -wal and -shm away, copy FILE to heartline.db.`,
    examples: [['heartline backup -c heartline.yaml /backup/heartline-$(date +%F).db', 'a copy with its day']],
    exit: [
      ['0', 'the copy is there'],
      ['64', 'FILE exists, or the command line is wrong'],
      ['70', 'no copy could be made'],
      ['78', 'the configuration is wrong, or its store is in memory'],
    ],
    environment: ENVIRONMENT,
  },
  caller: {
    about: 'Callers are those who may use the gateway: each has a name and an endpoint_id.',
    examples: [['heartline caller new wallet', 'a fresh endpoint_id, and the YAML for it']],
    exit: [['0', 'it is printed'], USAGE],
  },
  new: {
    about: 'The endpoint_id is a password: it is printed this once, and kept nowhere.',
    examples: [
      ['heartline caller new wallet', 'what to put into the configuration'],
      ['heartline caller new wallet >> heartline.yaml', 'where it has no gateway: yet'],
    ],
    exit: [
      ['0', 'it is printed'],
      ['64', 'the name is none, or the command line is wrong'],
    ],
  },
  schema: {
    about: `For completion and checks while you type. First line of the configuration:
# yaml-language-server: $schema=heartline.schema.json`,
    examples: [['heartline schema > heartline.schema.json', 'for your editor']],
    exit: [['0', 'it is printed'], USAGE],
  },
} as const satisfies Record<string, HelpPage>

/** The sections as text, for after the options. */
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

/** What does it comes under the command: together they are too long for a line. */
function commands(examples: HelpPage['examples']): string {
  return `\nExamples:\n${examples.map(([command, does]) => `  ${command}\n      ${does}`).join('\n')}`
}

function section(title: string, rows: readonly (readonly [string, string])[] | undefined): string | null {
  if (rows === undefined) return null
  const width = Math.max(...rows.map(([name]) => name.length))
  return `\n${title}:\n${rows.map(([name, means]) => `  ${name.padEnd(width)}  ${means}`).join('\n')}`
}
