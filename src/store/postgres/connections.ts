import { Socket } from 'node:net'
import type { ClientBase, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import { databaseUrls } from '../../core/database-url.ts'
import type { Secret } from '../../secret.ts'
import { StoreError } from '../store.ts'
import { DatabaseError, lacksTls, ONLY_READS } from './database-error.ts'

/** Statements about leases have a connection of their own: they must not wait for any others. */
export type Use = 'leases' | 'all else'

/** Of a daemon without `cluster`, which has no leases. With the one that has its lock, five. */
const ALL = 4

/**
 * Connections to the first server of the address that accepts writes; to the next one if it fails. `prefer`, the default of
 * `sslmode`, falls back to none where a server has no TLS. `onMove`: all else that is connected must connect again.
 */
export async function createConnections(url: Secret, isAlone: boolean, onMove: () => void) {
  const sizes = { leases: 1, 'all else': isAlone ? ALL : ALL - 1 }
  const { Client, Pool, types } = (await import('pg')).default
  const servers = serversOf(url.reveal(), (oid, format) =>
    // Counts, times and heights are safe integers.
    oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format),
  )
  let server = servers[0] as Server
  const sockets = new Set<Socket>()
  let isAbandoned = false
  let pools = newPools()
  let searching: Promise<boolean> | null = null
  /** How often a connection did not answer. Those opened before the last time are not used any more. */
  let losses = 0
  const openedAfter = new WeakMap<PoolClient, number>()

  function newPools(): Readonly<Record<Use, Pool>> {
    return { leases: newPool('leases'), 'all else': newPool('all else') }
  }

  function newPool(use: Use): Pool {
    const fresh = new Pool({
      ...server.settings,
      stream: newSocket,
      max: sizes[use],
      idleTimeoutMillis: 30_000,
      ...ON_CONNECT,
    })
    // A connection that ends while it is not used: the next statement opens another.
    fresh.on('error', () => undefined)
    return fresh
  }

  /** What the client would use, so that it can be destroyed. */
  function newSocket(): Socket {
    const socket = new Socket()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  function renew(): void {
    const old = pools
    pools = newPools()
    void endAll(old)
  }

  function move(to: Server): void {
    server = to
    renew()
    onMove()
  }

  async function endAll(ended: Readonly<Record<Use, Pool>>): Promise<void> {
    await Promise.all(Object.values(ended).map((pool) => pool.end()))
  }

  async function isPrimary(tried: Server): Promise<boolean> {
    const client = new Client({ ...tried.settings, stream: newSocket })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await refuseStandby(client)
      return true
    } catch (error) {
      if (goesOnWithoutTls(tried, error)) return isPrimary(tried)
      if (isStandby(error)) throw error
      return false
    } finally {
      void client.end().catch(() => undefined)
    }
  }

  /** Asks all at once: one that hangs must not delay the others. Rejects if there is a standby, and no primary. */
  async function moveToAnother(): Promise<boolean> {
    const others = servers.filter((one) => one !== server)
    const found = await Promise.allSettled(others.map(isPrimary))
    const primary = others[found.findIndex((one) => one.status === 'fulfilled' && one.value)]
    if (primary !== undefined) move(primary)
    else for (const one of found) if (one.status === 'rejected') throw one.reason
    return primary !== undefined
  }

  async function connect(use: Use, attempts = MOST_ATTEMPTS): Promise<PoolClient> {
    if (isAbandoned) throw new DatabaseError('unreachable', 'closed')
    const tried = pools
    try {
      const client = await tried[use].connect()
      if (!openedAfter.has(client)) openedAfter.set(client, losses)
      if (openedAfter.get(client) === losses) return client
      client.release(true)
      return connect(use, attempts)
    } catch (error) {
      if (attempts === 1 || isAbandoned) throw error
      if (pools !== tried) return connect(use, attempts - 1)
      if (goesOnWithoutTls(server, error)) renew()
      else if (servers.length === 1 || isPrimarysOwn(error) || !(await isElsewhere())) throw error
      return connect(use, attempts - 1)
    }
  }

  function isElsewhere(): Promise<boolean> {
    searching ??= moveToAnother().finally(() => {
      searching = null
    })
    return searching
  }

  return {
    connect: (use: Use) => connect(use),
    /** Not of a pool. */
    newClient: () => new Client({ ...server.settings, stream: newSocket }),
    /** Whether all the connections for this use are there that may be. */
    isFull: (use: Use) => pools[use].totalCount >= sizes[use],
    /** Uses none of these connections any more: their server was demoted to a standby. */
    leave: () => move(server),
    /** It did not answer. Idle ones are likely lost as well, and each would take as long to fail. */
    distrust(client: PoolClient): void {
      if (openedAfter.get(client) === losses) losses++
    },
    end: () => endAll(pools),
    /** Opens no more connections, and ends all at once: one to a server that hangs would stay open. */
    abandon(): void {
      isAbandoned = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

export type Connections = Awaited<ReturnType<typeof createConnections>>

/** The pool waits for its promise, which its types do not know. */
const ON_CONNECT: object = { onConnect: refuseStandby }

/** What libpq calls `target_session_attrs=read-write`: every daemon writes. */
async function refuseStandby(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
  if (rows[0]?.transaction_read_only !== 'off') throw new DatabaseError('unreachable', ONLY_READS)
}

const isStandby = (error: unknown) => error instanceof DatabaseError && error.code === ONLY_READS

/** All connections are in use, or the login, the database or the number of connections was refused. */
function isPrimarysOwn(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const isQueueing = error.message === 'timeout exceeded when trying to connect'
  return isQueueing || ('code' in error && /^(28|3D|53)/.test(String(error.code)))
}

interface Server {
  settings: ClientConfig
  /** `null` where TLS is used, or is known to be missing. */
  withoutTls: ClientConfig | null
}

function goesOnWithoutTls(server: Server, error: unknown): boolean {
  if (server.withoutTls === null || !lacksTls(error)) return false
  server.settings = server.withoutTls
  server.withoutTls = null
  return true
}

/** A server without TLS, another one, and that one without TLS. */
const MOST_ATTEMPTS = 4
const CONNECT_WITHIN_MS = 5000
/** A machine that lost its power closes no connection: the server gives up its locks after 25 s, not after two hours. */
const DEAD_CLIENTS = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3'
/** Later than the server's own limit: only a connection that hangs takes so long. */
export const ANSWER_WITHIN_MS = 12_000
/** The server ends a statement that takes longer, or waits so long for a lock. */
const STATEMENT_MS = 10_000
const LOCK_MS = 5000
/** A session whose client is gone without a word must not keep its locks: a lease cannot be claimed meanwhile. */
const IDLE_TRANSACTION_MS = 5000

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** Those of libpq: one that is misspelt, such as `sslmod`, must not be ignored. */
const PARAMETERS = new Set(
  `application_name channel_binding client_encoding connect_timeout dbname fallback_application_name gssdelegation gssencmode
  gsslib host hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts options
  passfile password port replication require_auth requirepeer service ssl ssl_max_protocol_version ssl_min_protocol_version
  sslcert sslcertmode sslcompression sslcrl sslcrldir sslkey sslmode sslnegotiation sslpassword sslrootcert sslsni
  target_session_attrs tcp_user_timeout user`.split(/\s+/),
)

const TARGETS = ['any', 'read-write', 'primary']

type GetTypeParser = CustomTypesConfig['getTypeParser']

function serversOf(url: string, getTypeParser: GetTypeParser): readonly Server[] {
  const urls = databaseUrls(url)
  if (urls === null) throw new StoreError('bad-url', 'expected postgres://user:password@host:5432/database')
  return urls.map((one) => serverOf(new URL(one), getTypeParser))
}

/** `sslmode` means what it means to libpq; its default, `prefer`, uses TLS if the server offers it. */
function serverOf(address: URL, getTypeParser: GetTypeParser): Server {
  // A parameter with a wrong letter may be part of a password, so it is not repeated.
  if ([...address.searchParams.keys()].some((name) => !PARAMETERS.has(name)))
    throw new StoreError('bad-url', 'it has a parameter that PostgreSQL does not know')
  const isOfSystem = address.searchParams.get('sslrootcert') === 'system'
  const usual = isOfSystem ? 'verify-full' : address.searchParams.get('ssl') === 'true' ? 'require' : 'prefer'
  const mode = address.searchParams.get('sslmode') ?? usual
  const options = address.searchParams.get('options') ?? ''
  const target = address.searchParams.get('target_session_attrs') ?? 'any'
  address.searchParams.delete('options')
  address.searchParams.delete('target_session_attrs')
  if (!SSL_MODES.includes(mode)) throw new StoreError('bad-url', `sslmode must be one of ${SSL_MODES.join(', ')}`)
  if (isOfSystem) {
    if (mode !== 'verify-full') throw new StoreError('bad-url', 'sslrootcert=system needs sslmode=verify-full')
    address.searchParams.delete('sslrootcert')
  }
  if (!TARGETS.includes(target)) {
    const message = 'target_session_attrs must be read-write or primary, or left out: Heartline writes'
    throw new StoreError('bad-url', message)
  }
  const isTlsOptional = mode === 'prefer' || mode === 'allow'
  address.searchParams.set('sslmode', isTlsOptional ? 'prefer' : mode)
  address.searchParams.set('uselibpqcompat', 'true')
  const settings = {
    connectionString: address.href,
    application_name: address.searchParams.get('application_name') ?? 'heartline',
    types: { getTypeParser },
    enableChannelBinding: address.searchParams.get('channel_binding') === 'require',
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    query_timeout: ANSWER_WITHIN_MS,
    keepAlive: true,
    options: `${options} ${DEAD_CLIENTS}`.trim(),
  }
  address.searchParams.set('sslmode', 'disable')
  return { settings, withoutTls: isTlsOptional ? { ...settings, connectionString: address.href } : null }
}
