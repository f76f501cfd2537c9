import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { configFromObject, type Overrides } from '../config/load.ts'
import { type Daemon, ListenError, startDaemon } from '../daemon/daemon.ts'
import { createLogger } from '../log.ts'
import { startDemoNodes } from '../simulator/demo.ts'
import { codeOf } from '../store/sqlite/disk.ts'
import { freshEndpointId } from './caller.ts'
import { printProblems } from './check-config.ts'
import { writeDemoPast } from './demo-past.ts'
import { startDemoTraffic } from './demo-traffic.ts'
import { aborted, type CommandIo, EXIT } from './io.ts'

export interface DemoOptions extends Overrides {
  /** Port of the page; by default 9780 if it is free, else any free port. */
  readonly port?: number
  /** Several daemons on a temporary PostgreSQL. */
  readonly cluster?: boolean
}

const DEMO_NOTE = {
  text: 'This is a demo: the nodes, their faults and their history are simulated. Monitor your own: heartline probe --url URL.',
  links: [
    { text: 'Incidents', url: '/incidents' },
    { text: 'Block arrival', url: '/networks/ethereum' },
    { text: 'Gateway', url: '/gateway' },
  ],
}

const USUAL_PORT = 9780
const USUAL_GATEWAY_PORT = 9781

/**
 * Runs simulated nodes of all families with recurring faults, the daemon, and its gateway with traffic. Leaves no files
 * behind; the callers' ids are valid for this run only.
 */
export async function demo({ port, cluster = false, ...overrides }: DemoOptions, io: CommandIo): Promise<number> {
  if (cluster) {
    const { demoCluster } = await import('./demo-cluster.ts')
    return demoCluster(port, io)
  }
  let folder: string
  try {
    folder = mkdtempSync(join(tmpdir(), 'heartline-demo-'))
  } catch (error) {
    io.err(`heartline demo: no folder for the store can be made in ${tmpdir()} (${codeOf(error)}): set TMPDIR`)
    return EXIT.software
  }
  const nodes = await startDemoNodes({ clock: systemClock })
  const receiver = await startReceiver()
  try {
    const [own, background] = [freshEndpointId(), freshEndpointId()]
    const start = async (page: number, gateway: number): Promise<Daemon | null> => {
      const file = {
        ...nodes.config,
        announcements: [DEMO_NOTE],
        server: { listen: `127.0.0.1:${page}` },
        store: { path: join(folder, 'demo.db') },
        notify: {
          channels: [{ name: 'demo', type: 'webhook', url: receiver.url, secret: DEMO_SECRET, group_wait: '2s' }],
        },
        gateway: {
          enabled: true,
          listen: `127.0.0.1:${gateway}`,
          admin: true,
          callers: [
            { name: 'you', endpoint_id: own, admin: true, methods: ['*'] },
            { name: 'background', endpoint_id: background },
          ],
        },
      }
      const loaded = configFromObject(file, folder, io.env, { logLevel: 'error', ...overrides })
      if (!loaded.ok) {
        printProblems('demo', loaded.problems, io)
        return null
      }
      const log = await createLogger({ ...loaded.config.log, format: 'pretty' })
      if (!existsSync(loaded.config.store.path ?? '')) await writeDemoPast(loaded.config, log, io.signal)
      if (io.signal.aborted) return null
      try {
        return await startDaemon({ config: loaded.config, log })
      } catch (error) {
        if (!(error instanceof ListenError)) throw error
        const isTaken = error.code === 'EADDRINUSE'
        if (isTaken && error.key === 'gateway.listen' && gateway !== 0) return start(page, 0)
        if (isTaken && error.key === 'server.listen' && port === undefined && page !== 0) return start(0, gateway)
        io.err(`heartline demo: ${error.message}`)
        return null
      }
    }
    const daemon = await start(port ?? USUAL_PORT, port === 0 ? 0 : USUAL_GATEWAY_PORT)
    if (daemon === null) return io.signal.aborted ? EXIT.ok : EXIT.software
    const url = daemon.gatewayUrl ?? ''
    const traffic = startDemoTraffic({ url, endpointId: background, clock: systemClock })
    io.out('Nine simulated nodes with recurring faults. Press Ctrl-C to stop.')
    io.out(
      'Monitor your own nodes: heartline probe --url URL shows what it finds, heartline init --url URL writes heartline.yaml.',
    )
    io.out('The gateway forwards to a healthy node. This endpoint_id is valid until the demo stops:')
    io.out(`  curl ${url}ethereum/${own} -H 'content-type: application/json' -d '${CALL}'`)
    io.out(`  curl ${url}multiversx/${own}/network/status/1`)
    io.out(daemon.url)
    await aborted(io.signal)
    await traffic.stop()
    await daemon.stop()
    return EXIT.ok
  } finally {
    receiver.close()
    await nodes.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Signs messages to this process itself. */
const DEMO_SECRET = `whsec_${randomBytes(32).toString('base64')}`

/** Accepts every message, so that the page shows how notifications go out. */
async function startReceiver(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}'
