import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg'
import type { Secret } from '../../secret.ts'
import { StoreError } from '../store.ts'
import { lacksTls } from './database-error.ts'

/** Connections to one address. `prefer`, the default of `sslmode`, falls back to none where the server has no TLS. */
export interface Connections {
  connect(): Promise<PoolClient>
  /** Not of the pool. */
  newClient(): Client
  /** Whether the pool has all the connections that it may have. */
  isFull(): boolean
  end(): Promise<void>
}

/** With the connection that listens, five at most. */
const POOL_SIZE = 4

/** Loads the client; connects to nothing yet. */
export async function createConnections(url: Secret): Promise<Connections> {
  const { Client, Pool, types } = (await import('pg')).default
  const { settings, withoutTls, isTlsOptional } = settingsOf(url.reveal(), (oid, format) =>
    // Counts, times and heights are safe integers.
    oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format),
  )
  let current = settings
  let pool = newPool()

  function newPool(): Pool {
    const fresh = new Pool({ ...current, max: POOL_SIZE, idleTimeoutMillis: 30_000 })
    // A connection that ends while it is not used: the next statement opens another.
    fresh.on('error', () => undefined)
    return fresh
  }

  return {
    async connect() {
      const tried = pool
      try {
        return await tried.connect()
      } catch (error) {
        if (!isTlsOptional || !lacksTls(error)) throw error
        if (pool === tried) {
          current = withoutTls
          pool = newPool()
          void tried.end()
        }
        return pool.connect()
      }
    },
    newClient: () => new Client(current),
    isFull: () => pool.totalCount >= POOL_SIZE,
    end: () => pool.end(),
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
