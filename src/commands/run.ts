import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { parseDuration } from '../config/scalars.ts'
import { FAMILIES } from '../config/schema.ts'
import { METACHAIN } from '../core/network.ts'
import { LOG_LEVELS, type LogLevel } from '../logger.ts'
import { version } from '../version.ts'
import { backup } from './backup.ts'
import { newCaller } from './caller.ts'
import { checkConfig } from './check-config.ts'
import { demo } from './demo.ts'
import { HELP, helpText } from './help.ts'
import { type CommandIo, EXIT } from './io.ts'
import { probe } from './probe.ts'
import { schema } from './schema.ts'
import { serve } from './serve.ts'
import { simulate } from './simulate.ts'

interface GlobalOptions {
  readonly config?: string
  readonly logLevel?: LogLevel
  readonly apiAdminEnabled?: boolean
}

/** Two signals closer than this are one. */
const SECOND_ASKING_MS = 1000

/** Reads the command line, runs the command, and gives its exit status. */
export async function run(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const stopping = new AbortController()
  const io: CommandIo = {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    signal: stopping.signal,
  }
  let stoppingSince = 0
  const stop = () => {
    const now = systemClock.monotonic()
    // Asked twice, it is meant; but a terminal and npm both pass one Ctrl-C on.
    if (stopping.signal.aborted && now - stoppingSince >= SECOND_ASKING_MS) process.exit(128 + 15)
    if (stopping.signal.aborted) return
    stoppingSince = now
    stopping.abort()
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)

  // `heartline … | head` has read enough: that is no bug of ours. The status is that of a process that SIGPIPE ends.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(128 + 13)
  })

  let status: number = EXIT.ok
  const program = new Command('heartline')
    .description('Health monitoring daemon with a dashboard, for blockchain nodes.')
    .version(version)
    .addOption(new Option('-c, --config <file>', 'the configuration file').env('HEARTLINE_CONFIG'))
    .addOption(
      new Option('--log-level <level>', 'how much is logged, whatever the configuration says').choices(LOG_LEVELS),
    )
    .addOption(
      new Option('--api-admin-enabled <bool>', 'allows admin.alias, as gateway.admin does')
        .argParser(flag)
        .preset('true'),
    )
    .showHelpAfterError('--help says what can be asked.')
    .exitOverride()
    .enablePositionalOptions(false)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', helpText(HELP.heartline))

  const overrides = (): GlobalOptions => {
    const { config, ...others } = program.opts<GlobalOptions>()
    // An empty variable is as good as none.
    return config ? { ...others, config } : others
  }
  /** The commands that cannot do without a file. */
  const configured = async (command: (file: string) => Promise<number>) => {
    const { config: file } = overrides()
    if (file === undefined) io.err('heartline: a configuration file is needed: -c FILE, or HEARTLINE_CONFIG')
    status = file === undefined ? EXIT.usage : await command(file)
  }
  const runServe = () => configured((file) => serve({ file, ...serveOverrides(overrides()) }, io, env))
  const runDemo = async (options: { port?: number } = {}) => {
    status = await demo({ ...options, ...serveOverrides(overrides()) }, io, env)
  }

  program
    .command('serve')
    .description('runs the daemon (the default where a configuration file is given)')
    .addHelpText('after', helpText(HELP.serve))
    .action(runServe)
  program
    .command('demo')
    .description('simulated nodes of all three families with faults that come and go, and the daemon over them')
    .addHelpText('after', helpText(HELP.demo))
    .option('--port <port>', 'port of the page (9780 where it is free)', whole(0, 65_535))
    .action(runDemo)
  program
    .command('probe')
    .description('polls once and prints what it finds; exit status 0 all up, 1 some degraded, 2 some down')
    .addHelpText('after', helpText(HELP.probe))
    .argument('[target...]', 'NETWORK or NETWORK/ENDPOINT; everything by default')
    .option('--json', 'for scripts')
    .action((targets: string[], { json = false }: { json?: boolean }) =>
      configured((file) => probe({ file, targets, json }, io, env)),
    )
  program
    .command('check-config')
    .description('validates the file and prints every problem with its key path; exit status 78 if there is one')
    .addHelpText('after', helpText(HELP['check-config']))
    .action(() => configured((config) => checkConfig({ config, ...serveOverrides(overrides()) }, io, env)))
  program
    .command('simulate')
    .description('one simulated node, with a control interface to inject faults')
    .addHelpText('after', helpText(HELP.simulate))
    .addOption(new Option('--family <family>', 'what it speaks').choices(FAMILIES).makeOptionMandatory())
    .requiredOption('--port <port>', 'loopback port; 0 for any', whole(0, 65_535))
    .option('--endpoint-name <name>', 'tells nodes apart: where they err, each errs in its own way', 'own-1')
    .option('--block-time <duration>', 'from block to block (ethereum 12s, avalanche 2s, multiversx 6s)', duration)
    .option('--seed <text>', 'nodes of one seed and block time are on one chain, also in other processes')
    .option('--chain-id <number>', 'ethereum (1), avalanche (43114)', whole(1, Number.MAX_SAFE_INTEGER))
    .addOption(new Option('--generation <age>', 'avalanche: before 1.2.1, or now').choices(['old', 'new']))
    .option('--check-every <duration>', 'avalanche: how often it checks its own health (30s)', duration)
    .addOption(new Option('--kind <kind>', 'multiversx').choices(['proxy', 'observer']))
    .option('--shard <number>', 'multiversx: the one that an observer serves', whole(0, METACHAIN))
    .action(async ({ blockTime, checkEvery, ...options }) => {
      const { apiAdminEnabled: adminEnabled } = overrides()
      status = await simulate(
        { ...options, blockTimeMs: blockTime, checkEveryMs: checkEvery, adminEnabled },
        io,
        io.signal,
      )
    })
  program
    .command('backup')
    .description('a consistent copy of the store, also while the daemon runs')
    .addHelpText('after', helpText(HELP.backup))
    .argument('<file>', 'where to; must not exist')
    .action((to: string) => configured((file) => backup({ file, to }, io, env)))
  program
    .command('caller')
    .description('`caller new NAME` prints a fresh endpoint_id for a caller of the gateway, and the YAML for it')
    .addHelpText('after', helpText(HELP.caller))
    .command('new')
    .description('prints a fresh endpoint_id for a caller of this name, and the YAML for it')
    .addHelpText('after', helpText(HELP.new))
    .argument('<name>', 'the only form in which the caller is logged and shown')
    .action((name: string) => {
      status = newCaller({ name }, io)
    })
  program
    .command('schema')
    .description('the JSON Schema of the configuration file')
    .addHelpText('after', helpText(HELP.schema))
    .action(async () => {
      status = await schema({}, io)
    })
  program.action(() => (overrides().config === undefined ? runDemo() : runServe()))

  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop)
  }
  return status
}

function serveOverrides({ logLevel, apiAdminEnabled }: GlobalOptions) {
  return { ...(logLevel && { logLevel }), ...(apiAdminEnabled !== undefined && { admin: apiAdminEnabled }) }
}

function flag(value: string): boolean {
  if (value === 'true') return true
  if (value === 'false') return false
  throw new InvalidArgumentError('expected true or false')
}

function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('expected a duration such as 500ms, 15s, 2m')
  return ms
}

function whole(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`)
    }
    return number
  }
}
