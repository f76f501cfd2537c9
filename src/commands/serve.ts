import { loadConfig, type Overrides } from '../config/load.ts'
import { formatProblem } from '../config/problem.ts'
import { createReloader } from '../config/reload.ts'
import { type Daemon, startDaemon } from '../daemon.ts'
import { createLogger } from '../logger.ts'
import { StoreError } from '../store/store.ts'
import { aborted, type CommandIo, EXIT } from './io.ts'
import { readConfig } from './read-config.ts'

export interface ServeOptions extends Overrides {
  readonly file: string
}

/** Runs the daemon until it is asked to stop. SIGHUP reads the file again; a bad one changes nothing. */
export async function serve(
  { file, ...overrides }: ServeOptions,
  io: CommandIo,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const loaded = readConfig(file, io, env, overrides)
  if (loaded === null) return EXIT.badConfig
  const { config, warnings } = loaded
  const log = createLogger(config.log)
  for (const warning of warnings) log.warn({}, formatProblem(file, warning))

  let daemon: Daemon | null = null
  // While starting: the file may have changed since it was read.
  let asked = false
  const reloader = createReloader({ initial: config, load: () => loadConfig(file, env, overrides) })
  const reload = () => {
    if (daemon === null) {
      asked = true
      return
    }
    const result = reloader.reload()
    if (!result.ok) {
      for (const problem of result.problems) log.error({}, formatProblem(file, problem))
      log.error({ problems: result.problems.length }, 'configuration not reloaded: nothing has changed')
      return daemon.reloadRefused()
    }
    for (const warning of result.warnings) log.warn({}, formatProblem(file, warning))
    const { added, removed, changed, unchanged, needsRestart } = result.change
    daemon.reload(result.config, new Set(unchanged))
    const counts = {
      added: added.length,
      removed: removed.length,
      changed: changed.length,
      unchanged: unchanged.length,
    }
    log.info(counts, 'configuration reloaded')
    if (needsRestart.length > 0) log.warn({ keys: needsRestart }, 'these keys take effect with the next start')
  }
  process.on('SIGHUP', reload)
  try {
    daemon = await startDaemon({ config, log })
    if (asked) reload()
    await aborted(io.signal)
    log.info({}, 'stopping')
    await daemon.stop()
    log.info({}, 'stopped')
    return EXIT.ok
  } catch (error) {
    if (daemon === null) return refused(error, io)
    throw error
  } finally {
    process.off('SIGHUP', reload)
  }
}

/** What a person has to put right ends the start with a sentence; anything else is a bug, and says so. */
function refused(error: unknown, io: Pick<CommandIo, 'err'>): number {
  if (error instanceof StoreError) {
    io.err(`heartline: store.path: ${error.message}`)
    return error.kind === 'store-in-use' ? EXIT.storeInUse : EXIT.badConfig
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(code)) {
    io.err(`heartline: server.listen: the address cannot be used (${code})`)
    return EXIT.badConfig
  }
  throw error
}
