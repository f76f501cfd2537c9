import { systemClock } from '../clock.ts'
import { loadConfig, type Overrides } from '../config/load.ts'
import { formatProblem } from '../config/problem.ts'
import { createReloader } from '../config/reload.ts'
import { type Daemon, ListenError, startDaemon } from '../daemon/daemon.ts'
import { createLogger } from '../log.ts'
import { StoreError, type StoreRefusal } from '../store/store.ts'
import { readConfig } from './check-config.ts'
import { aborted, type CommandIo, EXIT, statusOfRefusal } from './io.ts'
import { guardProcess } from './process-guard.ts'
import { createServiceManager } from './service-manager.ts'

export interface ServeOptions extends Overrides {
  readonly file: string
}

/** Runs the daemon until SIGTERM or SIGINT. SIGHUP reloads the configuration; an invalid file changes nothing. */
export async function serve({ file, ...overrides }: ServeOptions, io: CommandIo): Promise<number> {
  const loaded = readConfig(file, io, overrides)
  if (loaded === null) return EXIT.badConfig
  const { config, warnings } = loaded
  let daemon: Daemon | null = null
  // Set by a SIGHUP during the start, and applied after it.
  let reloadRequested = false
  const reloader = createReloader({ initial: config, load: () => loadConfig(file, io.env, overrides) })
  const reload = () => {
    if (daemon === null) {
      reloadRequested = true
      return
    }
    const result = reloader.reload()
    if (!result.ok) {
      for (const problem of result.problems) log.error({}, formatProblem(file, problem))
      log.error(
        { problems: result.problems.length },
        'configuration not reloaded: the file is invalid, the running configuration stays',
      )
      return daemon.reloadRefused()
    }
    for (const warning of result.warnings) log.warn({}, formatProblem(file, warning))
    const { added, removed, changed, unchanged, kept } = result.change
    daemon.reload(result.config, new Set(kept))
    const counts = {
      added: added.length,
      removed: removed.length,
      changed: changed.length,
      unchanged: unchanged.length,
    }
    log.info(counts, 'configuration reloaded')
    if (result.needsRestart.length > 0)
      log.warn({ keys: result.needsRestart }, 'these keys take effect after a restart')
  }
  // Before anything is awaited: the file has been read.
  process.on('SIGHUP', reload)
  const log = await createLogger(config.log)
  for (const warning of warnings) log.warn({}, formatProblem(file, warning))
  const manager = createServiceManager({ env: io.env, clock: systemClock, log, pid: process.pid })
  const unguard = guardProcess({
    log,
    count: (source) => daemon?.countUncaught(source),
    exit: (status) => process.exit(status),
  })
  try {
    daemon = await startDaemon({ config, log })
    if (reloadRequested) reload()
    manager.ready(`the page is at ${daemon.url}`)
    await aborted(io.signal)
    manager.stopping()
    log.info({}, 'stopping')
    await daemon.stop()
    log.info({}, 'stopped')
    return EXIT.ok
  } catch (error) {
    if (daemon === null) return refused(error, config.store.url !== null, io)
    throw error
  } finally {
    process.off('SIGHUP', reload)
    unguard()
  }
}

/** Prints one sentence for an error that an operator can fix; throws any other error, because it is a bug. */
function refused(error: unknown, hasUrl: boolean, io: Pick<CommandIo, 'err'>): number {
  if (error instanceof StoreError) {
    const key = hasUrl && !OF_FILES.has(error.kind) ? 'store.url' : 'store.path'
    io.err(`heartline: ${key}: ${error.message}`)
    return statusOfRefusal(error)
  }
  if (!(error instanceof ListenError)) throw error
  io.err(`heartline: ${error.message}`)
  return EXIT.badConfig
}

/** With a database, the file is where rows wait. */
const OF_FILES: ReadonlySet<StoreRefusal> = new Set(['store-in-use', 'bad-spool', 'network-disk', 'sqlite-too-old'])
