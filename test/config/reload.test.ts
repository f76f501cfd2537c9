import { describe, expect, test } from 'vitest'
import { type ConfigResult, configFromObject } from '../../src/config/load.ts'
import { compareConfigs, createReloader, keysForRestart } from '../../src/config/reload.ts'
import { accepted, minimal } from './support.ts'

const BEFORE = accepted(minimal())

describe('what a new configuration changes', () => {
  test.each<[string, Parameters<typeof minimal>[0]]>([
    ['the url', { own: { url: 'http://127.0.0.1:8546' } }],
    ['a header', { own: { headers: { 'x-api-key': 'abc' } } }],
    ['the path', { own: { rpc_path: '/rpc' } }],
    ['the chain id', { network: { chain_id: 1 } }],
    ['the family', { network: { family: 'avalanche' } }],
    ['certificate trust', { own: { tls: { insecure: true } } }],
  ])('%s makes an endpoint another', (_, change) => {
    expect(compareConfigs(BEFORE, accepted(minimal(change)))).toEqual({
      added: [],
      removed: [],
      changed: ['main/own-1'],
      unchanged: [],
      kept: [],
    })
  })

  test.each<[string, Parameters<typeof minimal>[0]]>([
    ['a threshold', { network: { thresholds: { lag_blocks: 5 } } }],
    ['the block time', { network: { block_time: '3s' } }],
    ['the interval', { network: { poll: { interval: '5s' } } }],
    ['the interval of liveness checks', { network: { poll: { liveness_interval: '5m' } } }],
    ['the timeout', { network: { poll: { timeout: '1s' } } }],
    ['the polls at once per host', { network: { poll: { concurrency_per_host: 2 } } }],
  ])('%s changes an endpoint that keeps its state', (_, change) => {
    expect(compareConfigs(BEFORE, accepted(minimal(change)))).toMatchObject({
      changed: ['main/own-1'],
      unchanged: [],
      kept: ['main/own-1'],
    })
  })

  test.each<[string, Parameters<typeof minimal>[0]]>([
    ['nothing', {}],
    ['titles', { own: { title: 'Own node 1' }, network: { title: 'Main' } }],
    ['the explorer', { network: { explorer_url: 'https://explorer.example/' } }],
    ['the tier', { own: { tier: 'fallback' } }],
    ['the provider', { own: { provider: 'acme' } }],
    ['labels', { own: { labels: { region: 'fra' } } }],
    ['labels of metrics', { own: { labels: { region: 'fra' } }, rest: { metrics: { labels: ['region'] } } }],
    ['the log level', { rest: { log: { level: 'debug' } } }],
  ])('%s leaves an endpoint as it is', (_, change) => {
    expect(compareConfigs(BEFORE, accepted(minimal(change)))).toMatchObject({
      changed: [],
      unchanged: ['main/own-1'],
      kept: ['main/own-1'],
    })
  })

  test('a secret that differs is a change, the same secret is none', () => {
    const keyed = (key: string) => accepted(minimal({ own: { headers: { 'x-api-key': key } } }))

    expect(compareConfigs(keyed('abc'), keyed('abd')).changed).toEqual(['main/own-1'])
    expect(compareConfigs(keyed('abc'), keyed('abc')).changed).toEqual([])
  })

  test('an endpoint under another name is one less and one more', () => {
    expect(compareConfigs(BEFORE, accepted(minimal({ own: { name: 'own-2' } })))).toMatchObject({
      added: ['main/own-2'],
      removed: ['main/own-1'],
      changed: [],
      unchanged: [],
    })
  })

  test('a database and a cluster are for the next start', () => {
    const of = (password: string, vantage: string) =>
      accepted(
        minimal({
          rest: {
            store: { url: `postgres://heartline:${password}@127.0.0.1/heartline` },
            poll: { interval: '5s' },
            cluster: { vantage },
          },
        }),
      )

    expect(keysForRestart(of('abc', 'fra1'), of('abc', 'fra1'))).toEqual([])
    expect(keysForRestart(of('abc', 'fra1'), of('abd', 'nyc1'))).toEqual(['store.url', 'cluster'])
  })

  test('the names that the page answers for wait for a restart, and its own URL where other members know it', () => {
    const of = (server: object, rest: object = {}) => accepted(minimal({ rest: { server, ...rest } }))
    const cluster = { store: { url: 'postgres://user:abc@db.example/heartline' }, cluster: { vantage: 'fra1' } }
    const url = (name: string) => ({ public_url: `https://${name}.example` })

    expect(keysForRestart(of({}), of({ hosts: ['status.lan'] }))).toEqual(['server.hosts'])
    expect(keysForRestart(of(url('a')), of(url('b')))).toEqual([])
    expect(keysForRestart(of(url('a'), cluster), of(url('b'), cluster))).toEqual(['server.public_url'])
  })

  test('what is opened at start waits for a restart', () => {
    const after = accepted(
      minimal({
        rest: {
          server: {
            listen: '127.0.0.1:9790',
            token: 'another-token-of-24-chars',
            public_page: { title: 'Acme', networks: ['main'] },
          },
          store: { path: 'other.db', retention: { raw: '24h' } },
          gateway: { listen: '127.0.0.1:9791' },
          log: { format: 'pretty' },
        },
      }),
    )

    expect(keysForRestart(BEFORE, after)).toEqual([
      'server.listen',
      'server.token',
      'server.public_page',
      'store.path',
      'store.retention',
      'gateway.listen',
      'log.format',
    ])
  })
})

describe('reloading', () => {
  test('a bad file changes nothing; the next good one is compared with what runs', () => {
    const bad = configFromObject({}, '/', {})
    const good = configFromObject(minimal({ own: { name: 'own-2' } }), '/', {})
    const files: ConfigResult[] = [bad, good]
    const reloader = createReloader({ initial: BEFORE, load: () => files.shift() ?? bad })

    const first = reloader.reload()
    const afterFirst = reloader.current()
    const second = reloader.reload()

    expect(first).toEqual({ ok: false, problems: [{ path: 'networks', message: 'required' }] })
    expect(afterFirst).toBe(BEFORE)
    expect(second).toMatchObject({ ok: true, change: { added: ['main/own-2'], removed: ['main/own-1'] } })
    expect(second.ok && reloader.current() === second.config).toBe(true)
  })

  test('keys for a restart are those that differ from what runs, however often the file was read since', () => {
    const moved = configFromObject(minimal({ rest: { server: { listen: '127.0.0.1:9790' } } }), '/', {})
    const files: ConfigResult[] = [moved, moved, configFromObject(minimal(), '/', {})]
    const reloader = createReloader({
      initial: accepted(minimal(), { baseDir: '/' }),
      load: () => files.shift() ?? moved,
    })
    const keys = () => {
      const loaded = reloader.reload()
      return loaded.ok ? loaded.needsRestart : null
    }

    expect([keys(), keys(), keys()]).toEqual([['server.listen'], ['server.listen'], []])
  })
})
