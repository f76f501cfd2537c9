import { Pool } from 'undici'
import { atPace } from './support.ts'

/**
 * The bare undici loop of `scale.ts` in its own process: sends the requests of a poll to each URL in turn at a fixed pace, and
 * parses the responses. Takes its options as its parent's first message, and ends with its parent.
 */
const { urls, perSecond, liveness } = await new Promise<BareOptions>((resolve) => process.once('message', resolve))

export interface BareOptions {
  readonly urls: readonly string[]
  readonly perSecond: number
  /** Whether a poll has a liveness check, as of an avalanche endpoint. */
  readonly liveness: boolean
}

const pools = new Map<string, Pool>()
const targets = urls.map((url) => {
  const { origin, pathname } = new URL(url)
  const pool = pools.get(origin) ?? new Pool(origin, { connections: 8, pipelining: 1, keepAliveTimeout: 60_000 })
  pools.set(origin, pool)
  return { pool, pathname }
})

async function call(pool: Pool, path: string, method: string, params: string): Promise<unknown> {
  const { body } = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
  })
  return JSON.parse(await body.text())
}

process.once('disconnect', () => process.exit(0))
await atPace(perSecond, Number.POSITIVE_INFINITY, async (turn) => {
  const target = targets[turn % targets.length]
  if (target === undefined) return
  const { pool, pathname } = target
  if (liveness) await call(pool, `${pathname}/ext/health`, 'health.getLiveness', '{}')
  await call(pool, `${pathname}${liveness ? '/ext/bc/C/rpc' : ''}`, 'eth_getBlockByNumber', '["latest",false]')
})
