import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { configFromObject, type Overrides } from '../config/load.ts'
import { startDaemon } from '../daemon.ts'
import { createLogger } from '../logger.ts'
import { startDemoNodes } from '../simulator/demo.ts'
import { aborted, type CommandIo, EXIT } from './io.ts'
import { tellProblems } from './read-config.ts'

export interface DemoOptions extends Overrides {
  /** Of the page; by default the usual one where it is free, else any. */
  readonly port?: number
}

const USUAL_PORT = 9780

/** Simulated nodes of all three families with faults that come and go, and the daemon over them. Leaves nothing behind. */
export async function demo(
  { port, ...overrides }: DemoOptions,
  io: CommandIo,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-demo-'))
  const nodes = await startDemoNodes({ clock: systemClock })
  try {
    const start = async (at: number) => {
      const file = { ...nodes.config, server: { listen: `127.0.0.1:${at}` }, store: { path: join(folder, 'demo.db') } }
      const loaded = configFromObject(file, folder, env, { logLevel: 'error', ...overrides })
      if (loaded.ok)
        return startDaemon({ config: loaded.config, log: createLogger({ ...loaded.config.log, format: 'pretty' }) })
      tellProblems('demo', loaded.problems, io)
      return null
    }
    const daemon = await start(port ?? USUAL_PORT).catch((error: unknown) => {
      if (port === undefined && error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
        return start(0)
      throw error
    })
    if (daemon === null) return EXIT.software
    io.out('Nine simulated nodes with faults that come and go; the page shows them. Ctrl-C ends it.')
    io.out(daemon.url)
    await aborted(io.signal)
    await daemon.stop()
    return EXIT.ok
  } finally {
    await nodes.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
