import { Command, CommanderError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { FAMILIES, type Family, METACHAIN } from '../core/network.ts'
import { LOG_LEVELS, type LogLevel } from '../log.ts'
import { version } from '../version.ts'
import { collect, duration, flag, silenceDuration, whole } from './arguments.ts'
import { HELP, helpText } from './help.ts'
import { type CommandIo, EXIT, hasWorkingDirectory } from './io.ts'

interface GlobalOptions {
  readonly config?: string
  readonly logLevel?: LogLevel
  readonly apiAdminEnabled?: boolean
}

interface DiscoverFlags {
  readonly url: readonly string[]
  readonly family?: Family | null
}

interface ProbeFlags extends DiscoverFlags {
  readonly json?: boolean
}

/** Two signals within this time count as one, because a terminal and npm both forward a single Ctrl-C. */
const SECOND_SIGNAL_MS = 1000

/** Where a command runs: by default in this process and its terminal. */
interface Surroundings {
  readonly env?: NodeJS.ProcessEnv
  readonly stdout?: NodeJS.WritableStream
  readonly stderr?: NodeJS.WritableStream
}

/** Parses the command line, runs the command, and returns its exit status. */
export async function run(
  argv: readonly string[],
  { env = process.env, stdout = process.stdout, stderr = process.stderr }: Surroundings = {},
): Promise<number> {
  const stopping = new AbortController()
  const io: CommandIo = {
    out: (text) => void stdout.write(`${text}\n`),
    err: (text) => void stderr.write(`${text}\n`),
    env,
    signal: stopping.signal,
  }
  if (!hasWorkingDirectory(io)) return EXIT.software
  let stoppingSince = 0
  const stop = () => {
    const now = systemClock.monotonic()
    if (stopping.signal.aborted && now - stoppingSince >= SECOND_SIGNAL_MS) process.exit(128 + 15)
    if (stopping.signal.aborted) return
    stoppingSince = now
    stopping.abort()
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)

  // `heartline … | head` closes the pipe early. The exit status is that of a process ended by SIGPIPE.
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(128 + 13)
    io.err(`heartline: the output cannot be written (${code})`)
    process.exit(EXIT.software)
  })
  // Only the exit status can report it.
  stderr.on('error', ignore)

  let status: number = EXIT.ok
  const program = new Command('heartline')
    .description(HELP.heartline.summary)
    .version(version)
    .addOption(new Option('-c, --config <file>', 'the configuration file').env('HEARTLINE_CONFIG'))
    .addOption(new Option('--log-level <level>', 'log level; overrides the configuration').choices(LOG_LEVELS))
    .addOption(
      new Option('--api-admin-enabled <bool>', 'allows admin.alias, as gateway.admin does')
        .argParser(flag)
        .preset('true'),
    )
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) })
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride()
    .helpCommand(false)
    .enablePositionalOptions(false)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', helpText(HELP.heartline))

  const overrides = (): GlobalOptions => {
    const { config, ...others } = program.opts<GlobalOptions>()
    return config ? { ...others, config } : others // An empty HEARTLINE_CONFIG counts as not set.
  }
  /** Runs a command that needs a configuration file. */
  const configured = async (command: (file: string) => Promise<number>) => {
    const { config: file } = overrides()
    if (file === undefined) io.err('heartline: a configuration file is required: -c FILE, or HEARTLINE_CONFIG')
    status = file === undefined ? EXIT.usage : await command(file)
  }
  // Each action imports its command, because loading all of them takes longer than most of them run.
  const runServe = () =>
    configured(async (file) => {
      // The file is read after the import, so that an earlier SIGHUP has nothing to reload, and must not end the process.
      process.on('SIGHUP', ignore)
      try {
        const { serve } = await import('./serve.ts')
        return await serve({ file, ...serveOverrides(overrides()) }, io)
      } finally {
        process.off('SIGHUP', ignore)
      }
    })
  const runDemo = async (options: { port?: number; cluster?: boolean } = {}) => {
    // The terminal is closed: its files, daemons and database must not be left behind.
    process.on('SIGHUP', stop)
    const { demo } = await import('./demo.ts')
    status = await demo({ ...options, ...serveOverrides(overrides()) }, io)
  }

  add(program, 'serve').action(runServe)
  add(program, 'demo')
    .option('--port <port>', 'port of the page (default: 9780 if it is free)', whole(0, 65_535))
    .option('--cluster', 'three daemons in two places, on a temporary PostgreSQL')
    .action(runDemo)
  const probed = add(program, 'probe')
    .argument('[target...]', 'NETWORK or NETWORK/ENDPOINT; default: all')
    .option('--json', 'print JSON')
    .option('--url <url>', 'a node that is not configured; repeatable. Prints the configuration for it', collect, [])
    .addOption(new Option('--family <family>', 'with --url: its interface, if known').choices(FAMILIES))
    .action(async (targets: string[], { json = false, url: urls, family = null }: ProbeFlags) => {
      if (urls.length > 0 && targets.length > 0) return probed.error('error: --url polls no configured TARGET')
      if (urls.length === 0 && family !== null) return probed.error('error: --family needs --url')
      if (urls.length === 0) {
        const { probe } = await import('./probe.ts')
        return configured((file) => probe({ file, targets, json }, io))
      }
      const { probeUrls } = await import('./discover.ts')
      status = await probeUrls({ urls, family, json }, io)
    })
  add(program, 'check-config').action(() =>
    configured(async (file) => {
      const { checkConfig } = await import('./check-config.ts')
      return checkConfig({ file, ...serveOverrides(overrides()) }, io)
    }),
  )
  add(add(program, 'notify'), 'test')
    .argument('[channel...]', 'names of channels; default: all')
    .action((channels: string[]) =>
      configured(async (file) => {
        const { notifyTest } = await import('./notify-test.ts')
        return notifyTest({ file, channels }, io)
      }),
    )
  add(program, 'backup')
    .argument('<file>', 'target file; must not exist')
    .action((to: string) =>
      configured(async (file) => {
        const { backup } = await import('./backup.ts')
        return backup({ file, to }, io)
      }),
    )
  add(program, 'migrate-store')
    .requiredOption('--from <file>', 'the history in SQLite (store.path)')
    .option('--to <url>', 'postgres://user:password@host:5432/database, an empty one')
    .action(async ({ from, to = env.DATABASE_URL }: { from: string; to?: string }) => {
      const { migrateStore } = await import('./migrate-store.ts')
      status = await migrateStore({ from, to }, io)
    })
  addDaemonCommands(program, { io, configured })
  addToolCommands(program, { io, overrides, end: (given) => void (status = given) })
  addHelp(program)
  // Without this, an unknown command would be an argument too many.
  program.allowExcessArguments().action(() => {
    const [unknown] = program.args
    if (unknown !== undefined) return program.error(`error: unknown command '${unknown}'`)
    return overrides().config === undefined ? runDemo() : runServe()
  })

  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop).off('SIGHUP', stop)
  }
  return status
}

function add(parent: Command, name: Exclude<keyof typeof HELP, 'heartline'>): Command {
  return parent.command(name).description(HELP[name].summary).addHelpText('after', helpText(HELP[name]))
}

/** Commander's own one prints all help for a command that it does not know, and none of the second word. */
function addHelp(program: Command): void {
  const fail = (word: string) => program.error(`error: unknown command '${word}'`)
  program
    .command('help')
    .argument('[command...]')
    .description('display help for command')
    .action((words: string[]) => {
      const next = (parent: Command, word: string) => parent.commands.find((one) => one.name() === word) ?? fail(word)
      words.reduce(next, program).help()
    })
}

/** The commands that talk to the running daemon. */
function addDaemonCommands(program: Command, { io, configured }: DaemonContext): void {
  const silences = add(program, 'silence')
    .argument('[target]', 'NETWORK or NETWORK/ENDPOINT')
    .option('--for <duration>', 'how long, at most 30d', silenceDuration)
    .option('--reason <text>', 'why, in at most 200 characters; shown to everyone with the token')
    .action(async (target: string | undefined, { for: forMs, reason }: { for?: number; reason?: string }) => {
      if (target === undefined || forMs === undefined || reason === undefined) {
        return silences.error('error: a silence needs NETWORK or NETWORK/ENDPOINT, --for and --reason')
      }
      const { silence } = await import('./silence.ts')
      await configured((file) => silence({ file, target, forMs, reason }, io))
    })
  add(silences, 'list').action(() =>
    configured(async (file) => {
      const { listSilences } = await import('./silence.ts')
      return listSilences({ file }, io)
    }),
  )
  add(silences, 'end')
    .argument('<id>', 'as `silence` and `silence list` print it')
    .action((id: string) =>
      configured(async (file) => {
        const { endSilence } = await import('./silence.ts')
        return endSilence({ file, id }, io)
      }),
    )
  add(program, 'note')
    .argument('<incident>', 'its id, as in the address of its page')
    .argument('<text>', 'at most 2000 characters, also several lines')
    .option('--public', 'show it without the token too')
    .action((incident: string, text: string, { public: isPublic = false }: { public?: boolean }) =>
      configured(async (file) => {
        const { note } = await import('./note.ts')
        return note({ file, incident, text, isPublic }, io)
      }),
    )
}

interface DaemonContext {
  readonly io: CommandIo
  readonly configured: (command: (file: string) => Promise<number>) => Promise<void>
}

/** The commands that read no configuration. */
function addToolCommands(program: Command, { io, overrides, end }: ToolContext): void {
  add(program, 'init')
    .requiredOption('--url <url>', 'URL of a node; repeatable', collect)
    .addOption(new Option('--family <family>', 'interface of the nodes, if known').choices(FAMILIES))
    .action(async ({ url: urls, family = null }: DiscoverFlags) => {
      const { init } = await import('./discover.ts')
      end(await init({ urls, family, file: overrides().config ?? 'heartline.yaml' }, io))
    })
  add(program, 'simulate')
    .addOption(new Option('--family <family>', 'interface of the node').choices(FAMILIES).makeOptionMandatory())
    .requiredOption('--port <port>', 'loopback port; 0 for any free port', whole(0, 65_535))
    .option('--endpoint-name <name>', 'name of the node; nodes of different names fail differently', 'own-1')
    .option('--block-time <duration>', 'time between blocks (ethereum 12s, avalanche 2s, multiversx 6s)', duration)
    .option('--seed <text>', 'nodes with the same seed and block time share a chain, also across processes')
    .option('--chain-id <number>', 'ethereum (1), avalanche (43114)', whole(1, Number.MAX_SAFE_INTEGER))
    .addOption(
      new Option('--generation <age>', 'avalanche: old answers as before version 1.2.1').choices(['old', 'new']),
    )
    .option('--check-every <duration>', 'avalanche: interval of its own health checks (30s)', duration)
    .addOption(new Option('--kind <kind>', 'multiversx').choices(['proxy', 'observer']))
    .option('--shard <number>', 'multiversx: the shard that an observer serves', whole(0, METACHAIN))
    .action(async ({ blockTime, checkEvery, ...options }) => {
      const { apiAdminEnabled: adminEnabled } = overrides()
      const simulated = { ...options, blockTimeMs: blockTime, checkEveryMs: checkEvery, adminEnabled }
      const { simulate } = await import('./simulate.ts')
      end(await simulate(simulated, io))
    })
  add(add(program, 'caller'), 'new')
    .argument('<name>', 'name of the caller in logs, metrics and on the page')
    .action(async (name: string) => {
      const { newCaller } = await import('./caller.ts')
      end(newCaller({ name }, io))
    })
  add(program, 'schema').action(async () => {
    const { schema } = await import('./schema.ts')
    end(schema(io))
  })
}

interface ToolContext {
  readonly io: CommandIo
  readonly overrides: () => GlobalOptions
  /** Sets the exit status. */
  readonly end: (status: number) => void
}

function ignore(): void {}

function serveOverrides({ logLevel, apiAdminEnabled }: GlobalOptions) {
  return { ...(logLevel && { logLevel }), ...(apiAdminEnabled !== undefined && { admin: apiAdminEnabled }) }
}
