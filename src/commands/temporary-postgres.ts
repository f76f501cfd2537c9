import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** A PostgreSQL server in a folder of its own, which is removed when it stops; `null` where PostgreSQL is not installed. */
export async function startTemporaryPostgres(
  env: NodeJS.ProcessEnv,
  versions = DEBIAN,
): Promise<TemporaryPostgres | null> {
  const programs = programsOf(env, versions)
  const owner = ownerOfServer()
  if (programs === null || owner === undefined) return null
  const folder = mkdtempSync(join(tmpdir(), 'heartline-postgres-'))
  const [data, secret] = [join(folder, 'data'), join(folder, 'password')]
  const password = randomBytes(18).toString('base64url')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  let server: ChildProcess | null = null
  try {
    writeFileSync(secret, password, { mode: 0o600 })
    if (owner !== null) for (const path of [folder, secret]) chownSync(path, owner.uid, owner.gid)
    // It may run as another user, so it gets no secrets of the environment.
    const own = { cwd: folder, env: { PATH: env['PATH'] }, ...owner }
    const login = ['--username', USER, '--pwfile', secret, '--auth', 'scram-sha-256']
    await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...login, '--no-sync', '--encoding', 'UTF8'], own)
    const port = await freePort()
    const settings = [...SETTINGS, `port=${port}`].flatMap((setting) => ['-c', setting])
    const child = spawn(join(programs, 'postgres'), ['-D', data, ...settings], {
      ...own,
      stdio: ['ignore', 'ignore', 'pipe'],
      // Without a session of its own, Ctrl-C would end it before its clients.
      detached: true,
    })
    server = child
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    await untilReady(child, ended)
    return {
      url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
      async stop() {
        child.kill('SIGINT')
        await ended
        remove()
      },
    }
  } catch (error) {
    server?.kill('SIGQUIT')
    remove()
    throw error
  }
}

export interface TemporaryPostgres {
  /** For `store.url`. */
  readonly url: string
  /** Ends its connections, then the server. */
  stop(): Promise<void>
}

const USER = 'heartline'
/** It need not survive a crash of the machine. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=40']
/** Debian keeps each version in a folder of its own. */
const DEBIAN = '/usr/lib/postgresql'
const OLDEST = 15

/** The folder of `initdb` and `postgres`, of the newest version or in PATH. */
function programsOf(env: NodeJS.ProcessEnv, versions: string): string | null {
  const found = existsSync(versions) ? readdirSync(versions).map(Number) : []
  const newestFirst = found.filter((version) => version >= OLDEST).sort((a, b) => b - a)
  const folders = [
    ...newestFirst.map((version) => join(versions, String(version), 'bin')),
    ...(env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
  ]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name)))) ?? null
}

/** PostgreSQL refuses to run as root; packages bring a user for it. `null`: the user of this process; `undefined`: that user is missing. */
function ownerOfServer(): { readonly uid: number; readonly gid: number } | null | undefined {
  if (process.getuid?.() !== 0) return null
  const found = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  return found === null ? undefined : { uid: Number(found[1]), gid: Number(found[2]) }
}

async function untilReady(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const lines = createInterface({ input: child.stderr ?? process.stdin })
  const ready = new Promise<'ready'>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('ready to accept connections')) resolve('ready')
    })
  })
  if ((await Promise.race([ready, ended])) !== 'ready') throw new Error('PostgreSQL did not start')
}

/** The wanted loopback port if it is free, else any other. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(wanted, '127.0.0.1', () => resolve(true))
  })
  if (!isFree) return freePort()
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
