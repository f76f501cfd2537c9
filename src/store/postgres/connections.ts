import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import type { Secret } from '../../secret.ts'
import { StoreError } from '../store.ts'
import { lacksTls } from './database-error.ts'

/** Connections to one address. `prefer`, the default of `sslmode`, falls back to none where the server has no TLS. */
export interface Connections {
  connect(use: Use): Promise<PoolClient>
  /** Not of a pool. */
  newClient(): Client
  /** Whether all the connections for this use are there that may be. */
  isFull(use: Use): boolean
  end(): Promise<void>
}

/** Statements about leases have a connection of their own: they must not wait for any others. */
export type Use = 'leases' | 'all else'

/** Of a daemon without `cluster`, which has no leases. With the connection that has its lock, or that listens, five. */
const ALL = 4

/** Loads the client; connects to nothing yet. */
export async function createConnections(url: Secret, isAlone: boolean): Promise<Connections> {
  const sizes = { leases: 1, 'all else': isAlone ? ALL : ALL - 1 }
  const { Client, Pool, types } = (await import('pg')).default
  const { settings, withoutTls, isTlsOptional } = settingsOf(url.reveal(), (oid, format) =>
    // Counts, times and heights are safe integers.
    oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format),
  )
  let current = settings
  let pools = newPools()

  function newPools(): Readonly<Record<Use, Pool>> {
    return { leases: newPool('leases'), 'all else': newPool('all else') }
  }

  function newPool(use: Use): Pool {
    const fresh = new Pool({ ...current, max: sizes[use], idleTimeoutMillis: 30_000 })
    // A connection that ends while it is not used: the next statement opens another.
    fresh.on('error', () => undefined)
    return fresh
  }

  async function endAll(ended: Readonly<Record<Use, Pool>>): Promise<void> {
    await Promise.all(Object.values(ended).map((pool) => pool.end()))
  }

  return {
    async connect(use) {
      const tried = pools
      try {
        return await tried[use].connect()
      } catch (error) {
        if (!isTlsOptional || !lacksTls(error)) throw error
        if (pools === tried) {
          current = withoutTls
          pools = newPools()
          void endAll(tried)
        }
        return pools[use].connect()
      }
    },
    newClient: () => new Client(current),
    isFull: (use) => pools[use].totalCount >= sizes[use],
    end: () => endAll(pools),
  }
}

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

/** `sslmode` means what it means to libpq; its default, `prefer`, uses TLS if the server offers it. */
function settingsOf(
  url: string,
  getTypeParser: CustomTypesConfig['getTypeParser'],
): { settings: ClientConfig; withoutTls: ClientConfig; isTlsOptional: boolean } {
  const address = URL.canParse(url) ? new URL(url) : null
  if (address === null || !/^postgres(ql)?:$/.test(address.protocol)) {
    throw new StoreError('bad-url', 'expected postgres://user:password@host:5432/database')
  }
  const mode = address.searchParams.get('sslmode') ?? 'prefer'
  const options = address.searchParams.get('options') ?? ''
  address.searchParams.delete('options')
  if (!SSL_MODES.includes(mode)) throw new StoreError('bad-url', `sslmode must be one of ${SSL_MODES.join(', ')}`)
  const isTlsOptional = mode === 'prefer' || mode === 'allow'
  address.searchParams.set('sslmode', isTlsOptional ? 'prefer' : mode)
  address.searchParams.set('uselibpqcompat', 'true')
  const settings = {
    connectionString: address.href,
    application_name: address.searchParams.get('application_name') ?? 'heartline',
    types: { getTypeParser },
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    query_timeout: ANSWER_WITHIN_MS,
    keepAlive: true,
    options: `${options} ${DEAD_CLIENTS}`.trim(),
  }
  address.searchParams.set('sslmode', 'disable')
  return { settings, withoutTls: { ...settings, connectionString: address.href }, isTlsOptional }
}
