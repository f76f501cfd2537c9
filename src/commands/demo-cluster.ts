import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { startDemoNodes } from '../simulator/demo.ts'
import { aborted, type CommandIo, EXIT } from './io.ts'
import { freePort, startTemporaryPostgres } from './temporary-postgres.ts'

/** Two members in one place, and one in another. */
const MEMBERS = [
  { name: 'fra-1', place: 'fra1' },
  { name: 'fra-2', place: 'fra1' },
  { name: 'nyc-1', place: 'nyc1' },
] as const
/** Cannot be reached from nyc1, so the places disagree. */
const UNREACHABLE = { network: 'avalanche', endpoint: 'own-2', from: 'nyc1' }

/** Runs simulated nodes, a temporary PostgreSQL, and three daemons of two places as processes. Leaves no files behind. */
export async function demoCluster(port: number | undefined, io: CommandIo): Promise<number> {
  const postgres = await startTemporaryPostgres(io.env).catch(() => undefined)
  if (postgres === null || postgres === undefined) {
    const what =
      postgres === null
        ? 'PostgreSQL 15 or later is not installed here (Debian: apt install postgresql)'
        : `PostgreSQL could not be started in a folder of ${tmpdir()}`
    io.err(`heartline demo --cluster: ${what}`)
    return EXIT.software
  }
  const folder = mkdtempSync(join(tmpdir(), 'heartline-demo-'))
  const nodes = await startDemoNodes({ clock: systemClock })
  const closed = `http://127.0.0.1:${await freePort()}`
  const members: Member[] = []
  try {
    for (const { name, place } of MEMBERS) {
      const own = await freePort(members.length === 0 ? (port ?? USUAL_PORT) : 0)
      const url = `http://127.0.0.1:${own}/`
      const file = join(folder, `${name}.json`)
      const config = {
        ...nodes.config,
        networks: seenFrom(place, nodes.config.networks as readonly DemoNetwork[], closed),
        announcements: [{ text: `This is a demo with simulated nodes. You see it by ${name}, in ${place}.` }],
        server: { listen: `127.0.0.1:${own}`, public_url: url },
        store: { url: postgres.url, path: join(folder, `${name}.db`) },
        cluster: { vantage: place, lease: '6s' },
        log: { level: 'error' },
      }
      // YAML includes JSON. It holds the password of the database.
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
      members.push({ name, place, url, process: startMember(file, io.env) })
      if (!(await isReady(members.at(-1), io.signal))) {
        if (!io.signal.aborted) io.err(`heartline demo --cluster: ${name} did not start`)
        return io.signal.aborted ? EXIT.ok : EXIT.software
      }
    }
    io.out('Nine simulated nodes with recurring faults, and three members in two places. Press Ctrl-C to stop.')
    io.out('From nyc1 one node of Avalanche cannot be reached. To see the others take over, end a member:')
    for (const { name, place, url, process } of members) io.out(`  ${name} in ${place}  ${url}  kill -9 ${process.pid}`)
    io.out(members[0]?.url ?? '')
    await aborted(io.signal)
    return EXIT.ok
  } finally {
    await Promise.all(members.map((member) => stopped(member.process)))
    await nodes.stop()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Member {
  readonly name: string
  readonly place: string
  readonly url: string
  readonly process: ChildProcess
}

interface DemoNetwork {
  readonly name: string
  readonly endpoints: readonly { readonly name: string; readonly url: string }[]
}

const USUAL_PORT = 9780
const READY_WITHIN_MS = 60_000
const ASKS_EVERY_MS = 200

function seenFrom(place: string, networks: readonly DemoNetwork[], closed: string): readonly DemoNetwork[] {
  return networks.map(({ name, endpoints, ...rest }) => ({
    ...rest,
    name,
    endpoints: endpoints.map((endpoint) => {
      const { network, endpoint: hidden, from } = UNREACHABLE
      return place === from && name === network && endpoint.name === hidden ? { ...endpoint, url: closed } : endpoint
    }),
  }))
}

/** In a session of its own, so that Ctrl-C reaches it through us, while its database still runs. */
function startMember(file: string, env: NodeJS.ProcessEnv): ChildProcess {
  const [, program = ''] = process.argv
  return spawn(process.execPath, [...process.execArgv, program, 'serve', '-c', file], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })
}

async function isReady(member: Member | undefined, signal: AbortSignal): Promise<boolean> {
  const until = systemClock.monotonic() + READY_WITHIN_MS
  while (member?.process.exitCode === null && !signal.aborted && systemClock.monotonic() < until) {
    if ((await statusOf(`${member.url}-/ready`)) === 200) return true
    await systemClock.sleep(ASKS_EVERY_MS, signal)
  }
  return false
}

function statusOf(url: string): Promise<number | null> {
  return new Promise((resolve) => {
    get(url, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? null)
    }).once('error', () => resolve(null))
  })
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  await ended
}
