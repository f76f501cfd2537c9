import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from './free-port.ts'
import { checkout } from './project.ts'
import { requirePackage } from './system-package.ts'

/** A real PostgreSQL in a temporary folder, with a password; one for each test file. */
export interface PostgresServer {
  readonly port: number
  /** Of the process that has all others of the server as its children. */
  readonly pid: number
  /** For `store.url`; each name is a new, empty database. */
  createDatabase(name?: string): Promise<string>
  /** Runs a statement as the superuser, by default in the database `postgres`. */
  run(text: string, url?: string): Promise<Record<string, unknown>[]>
  start(): Promise<void>
  /** Ends all connections, then the server. */
  stop(): Promise<void>
  /** As if the machine lost power: no connection is ended properly. */
  kill(): Promise<void>
  /** Has the next `start` listen on another port. */
  move(): Promise<void>
  /** The server neither answers nor closes a connection, until `resume`. */
  pause(): void
  resume(): void
  /** Another server that has everything this one has confirmed, and only reads until `promote`. */
  startStandby(): Promise<Standby>
  remove(): Promise<void>
}

export interface Standby extends PostgresServer {
  /** Makes it the primary. */
  promote(): Promise<void>
}

const BINARIES = '/usr/lib/postgresql'
const USER = 'heartline'
const PASSWORD = 'secret-of-postgres'

/** Skips the caller's tests, loudly, where Debian's `postgresql` is missing. */
export const hasPostgres = (): boolean => requirePackage('initdb', 'postgresql', programs())

/** With a certificate it offers TLS. */
export async function startPostgres(
  settings: readonly string[] = [],
  tls: { readonly cert: string; readonly key: string } | null = null,
): Promise<PostgresServer> {
  const folder = newFolder()
  execFileSync('cp', ['-a', emptyCluster(), join(folder, 'data')])
  if (tls !== null) offerTls(join(folder, 'data'), tls)
  const server = await startServer(folder, tls === null ? settings : [...settings, 'ssl=on'])
  await server.run(`CREATE ROLE ${USER} LOGIN PASSWORD '${PASSWORD}'`)
  requirePassword(join(folder, 'data'))
  await server.run('SELECT pg_reload_conf()')
  return server
}

/** The folder that `initdb` writes, written once: a copy takes a tenth of its CPU time. */
function emptyCluster(): string {
  const cache = join(checkout, 'node_modules/.cache/heartline')
  const kept = join(cache, `postgres-${programs().replaceAll(/\D/g, '')}-wal-1`)
  if (existsSync(kept)) return kept
  const folder = newFolder()
  const options = [
    '-U',
    'postgres',
    '--auth=trust',
    '--no-sync',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--wal-segsize=1',
  ]
  runProgram('initdb', ['-D', join(folder, 'data'), ...options], folder)
  // Other workers may write it too: each puts a whole one in place, and the first stays.
  mkdirSync(cache, { recursive: true })
  const own = mkdtempSync(join(cache, 'postgres-'))
  execFileSync('cp', ['-a', join(folder, 'data'), own])
  try {
    renameSync(join(own, 'data'), kept)
  } catch (error) {
    if (!existsSync(kept)) throw error
  }
  for (const done of [own, folder]) rmSync(done, { recursive: true, force: true })
  return kept
}

async function startStandbyOf(primary: PostgresServer, settings: readonly string[]): Promise<Standby> {
  const folder = newFolder()
  const from = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
  // The standby is configured to follow the primary (-R).
  runProgram('pg_basebackup', ['-D', join(folder, 'data'), '-d', from, '-R', '-c', 'fast', '--no-sync'], folder)
  const standby = await startServer(folder, settings)
  // From now on, the primary confirms a commit once the standby shows it.
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await primary.run('ALTER SYSTEM SET synchronous_commit = remote_apply')
  await primary.run('SELECT pg_reload_conf()')
  for (;;) {
    const [row] = await primary.run("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
    if (row !== undefined) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { ...standby, promote: async () => void (await standby.run('SELECT pg_promote()')) }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-postgres-'))
  const owner = unprivileged()
  if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  return folder
}

function runProgram(name: string, options: readonly string[], folder: string): void {
  execFileSync(join(programs(), name), options, { stdio: 'ignore', cwd: folder, ...unprivileged() })
}

async function startServer(folder: string, settings: readonly string[]): Promise<PostgresServer> {
  const owner = unprivileged()
  const data = join(folder, 'data')
  let port = await freePort()
  let server: ChildProcess | null = null
  let made = 0

  async function start(): Promise<void> {
    const options = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      `port=${port}`,
      'fsync=off',
      'shared_buffers=16MB',
      'max_connections=60',
      'jit=off',
      ...settings,
    ]
    const child = spawn(join(programs(), 'postgres'), ['-D', data, ...options.flatMap((option) => ['-c', option])], {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: folder,
      ...owner,
    })
    server = child
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (log.length < 4000) log += text
    })
    for (;;) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${log}`)
      if (await isReady(port)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async function end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const child = server
    server = null
    if (child === null || child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // The children of a killed server notice its death on their own; those of the next one must not meet them.
    const children = signal === 'SIGKILL' ? childrenOf(child.pid) : []
    child.kill(signal)
    await ended
    for (const pid of children) killQuietly(pid)
    // A server does not start while one of them still has the memory that they shared.
    while (children.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  async function run(text: string, url = `postgres://postgres@127.0.0.1:${port}/postgres`) {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      const { rows } = await client.query(text)
      return rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  await start()

  const self: PostgresServer = {
    get port() {
      return port
    },
    get pid() {
      return server?.pid ?? 0
    },
    start,
    run,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    async move() {
      port = await freePort()
    },
    pause: () => signalAll(server?.pid, 'SIGSTOP'),
    resume: () => signalAll(server?.pid, 'SIGCONT'),

    async createDatabase(name = `test_${++made}`) {
      await run(`CREATE DATABASE ${name} OWNER ${USER}`)
      return `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${name}`
    },

    startStandby: () => startStandbyOf(self, settings),

    async remove() {
      await end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return self
}

/** The newest installed version's folder; '' if there is none. */
function programs(): string {
  if (!existsSync(BINARIES)) return ''
  const versions = readdirSync(BINARIES).filter((name) => existsSync(join(BINARIES, name, 'bin/initdb')))
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? '' : join(BINARIES, newest, 'bin')
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

/** Under the names that `ssl=on` looks for. */
function offerTls(data: string, { cert, key }: { readonly cert: string; readonly key: string }): void {
  const owner = unprivileged()
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    writeFileSync(join(data, name), text, { mode: 0o600 })
    if (owner !== null) chownSync(join(data, name), owner.uid, owner.gid)
  }
}

function requirePassword(data: string): void {
  const ours = ['host all postgres 127.0.0.1/32 trust', 'host replication postgres 127.0.0.1/32 trust']
  const rules = [...ours, 'host all all 127.0.0.1/32 scram-sha-256']
  writeFileSync(join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`)
}

async function isReady(port: number): Promise<boolean> {
  const client = new Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` })
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

function childrenOf(pid: number | undefined): number[] {
  if (pid === undefined) return []
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)
}

function signalAll(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  for (const one of [pid, ...childrenOf(pid)]) killQuietly(one, signal)
}

/** Whether it has not ended; one that has ended may still wait for its parent. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function killQuietly(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}
