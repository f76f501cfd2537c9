import { X509Certificate } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { configFromObject, loadConfig } from '../../src/config/load.ts'
import { formatProblem } from '../../src/config/problem.ts'
import { createAuthority } from '../nodes/certificates.ts'
import { accepted, minimal, temporaryFolder, valid } from './support.ts'

const folders: string[] = []
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(files)
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

describe('defaults', () => {
  test('the smallest file gets the documented ones', () => {
    const folder = folderWith({
      'heartline.yaml': stringify({
        networks: [{ name: 'main', family: 'ethereum', endpoints: [{ name: 'own-1', url: 'http://127.0.0.1:8545/' }] }],
      }),
    })

    const { config, warnings } = valid(loadConfig(join(folder, 'heartline.yaml'), {}))

    expect(warnings).toEqual([])
    expect(config).toMatchObject({
      server: { listen: { host: '127.0.0.1', port: 9780 }, token: null, public: true, tls: null },
      store: {
        path: join(folder, 'heartline.db'),
        retention: { rawMs: 48 * 3_600_000, fiveMinutesMs: 30 * 86_400_000, hourMs: 730 * 86_400_000 },
        maxSizeBytes: 10 * 2 ** 30,
      },
      poll: { intervalMs: 15_000, timeoutMs: 5000, concurrency: 256, concurrencyPerHost: 8 },
      gateway: {
        enabled: false,
        listen: { host: '127.0.0.1', port: 9781 },
        admin: false,
        callers: [],
        cacheMaxBytes: 64 * 2 ** 20,
      },
      maintenance: [],
      announcements: [],
      log: { level: 'info', format: 'json' },
    })
    expect(config.networks[0]).toMatchObject({
      network: {
        name: 'main',
        title: 'main',
        blockTimeMs: 12_000,
        chainId: null,
        thresholds: {
          lagBlocks: 3,
          lagRecoverBlocks: 1,
          lagBlocksDown: 100,
          stallMs: 60_000,
          heartbeatMs: 60_000,
          contiguousFailures: 3,
          minPeers: 1,
          latencyMs: 2000,
          clockSkewMs: 10_000,
          failAfter: 2,
          recoverAfter: 2,
        },
      },
      endpoints: [
        {
          endpoint: {
            network: 'main',
            title: 'own-1',
            tier: 'primary',
            checks: ['liveness', 'head'],
            shards: [null],
            intervalMs: 15_000,
            livenessIntervalMs: 60_000,
          },
          connection: {
            beaconUrl: null,
            rpcPath: '/',
            kind: 'proxy',
            shard: null,
            timeoutMs: 5000,
            tls: { ca: null, insecure: false },
          },
        },
      ],
    })
    expect(config.networks[0]?.endpoints[0]?.connection.url.reveal()).toBe('http://127.0.0.1:8545')
  })

  test.each([
    ['ethereum', 12_000, 60_000, '/', [null]],
    ['avalanche', 2000, 15_000, '/ext/bc/C/rpc', [null]],
    ['multiversx', 6000, 60_000, '/', [0, 1, 2, 4_294_967_295]],
  ])('%s has its own', (family, blockTimeMs, livenessIntervalMs, rpcPath, shards) => {
    const [network] = accepted(minimal({ network: { family } })).networks

    expect(network?.network.blockTimeMs).toBe(blockTimeMs)
    expect(network?.shards).toEqual(shards)
    expect(network?.endpoints[0]).toMatchObject({
      endpoint: { checks: ['liveness', 'head'], shards, livenessIntervalMs },
      connection: { rpcPath },
    })
  })

  test.each<[string, object, object, readonly string[] | undefined, [number, number]]>([
    ['a longer interval', { interval: '5m' }, {}, undefined, [300_000, 300_000]],
    ['a shorter one of its own', { liveness_interval: '20s' }, {}, undefined, [15_000, 20_000]],
    ['one for the network', { liveness_interval: '20s' }, { liveness_interval: '2m' }, undefined, [15_000, 120_000]],
    ['one shorter than the interval', { liveness_interval: '1s' }, {}, undefined, [15_000, 15_000]],
    ['liveness alone', {}, {}, ['liveness'], [60_000, 60_000]],
  ])('liveness is polled by %s', (_name, poll, own, checks, [intervalMs, livenessIntervalMs]) => {
    const endpoint = checks === undefined ? {} : { checks }
    const [network] = accepted(minimal({ rest: { poll }, network: { poll: own }, own: endpoint })).networks

    expect(network?.endpoints[0]?.endpoint).toMatchObject({ intervalMs, livenessIntervalMs })
  })

  test.each([
    ['12s', undefined, 60_000],
    ['60s', undefined, 300_000],
    ['60s', '90s', 90_000],
  ])('with blocks every %s and a stall of %s it is %i ms', (block_time, stall, expected) => {
    const thresholds = stall === undefined ? {} : { stall }
    const [network] = accepted(minimal({ network: { block_time, thresholds } })).networks

    expect(network?.network.thresholds.stallMs).toBe(expected)
  })

  test('a network’s poll wins over the common one, key by key', () => {
    const { poll, networks } = accepted(
      minimal({
        network: { poll: { interval: '6s' } },
        rest: { poll: { interval: '20s', timeout: '4s', concurrency: 10 } },
      }),
    )

    expect(poll).toEqual({
      intervalMs: 20_000,
      retryMs: 5000,
      timeoutMs: 4000,
      concurrency: 10,
      concurrencyPerHost: 8,
      livenessIntervalMs: 60_000,
    })
    expect(networks[0]?.poll).toEqual({
      intervalMs: 6000,
      retryMs: 1500,
      timeoutMs: 4000,
      concurrency: 10,
      concurrencyPerHost: 8,
      livenessIntervalMs: 60_000,
    })
    expect(networks[0]?.endpoints[0]).toMatchObject({ endpoint: { intervalMs: 6000 }, connection: { timeoutMs: 4000 } })
  })

  test.each([
    ['a quarter of the interval by default', {}, {}, [5000, 1500]],
    ['the given time, at most the interval where it is inherited', { retry_interval: '10s' }, {}, [10_000, 6000]],
    ['the network’s own', { retry_interval: '10s' }, { retry_interval: '500ms' }, [10_000, 500]],
  ])('a suspect endpoint is polled again after %s', (_what, common, own, expected) => {
    const { poll, networks } = accepted(
      minimal({ network: { poll: { interval: '6s', ...own } }, rest: { poll: { interval: '20s', ...common } } }),
    )

    expect([poll.retryMs, networks[0]?.poll.retryMs]).toEqual(expected)
  })

  test('a timeout as long as its interval is kept where both are set', () => {
    const { config } = valid(configFromObject(minimal({ rest: { poll: { interval: '1s', timeout: '1s' } } }), '/', {}))

    expect(config.poll.timeoutMs).toBe(1000)
    expect(config.networks[0]?.poll.timeoutMs).toBe(1000)
  })

  test('with a database, the file is where rows wait, and there is none by default', () => {
    const url = 'postgres://heartline:secret-1@db.example.org/heartline?sslmode=verify-full'
    const of = (path?: string) => accepted(minimal({ rest: { store: { url, path } } }), { baseDir: '/etc/heartline' })

    expect(of().store.path).toBeNull()
    expect(of('spool.db').store.path).toBe('/etc/heartline/spool.db')
    expect(of().store.url?.reveal()).toBe(url)
    expect(accepted(minimal()).store.url).toBeNull()
  })

  test('the database may have several hosts', () => {
    const url = 'postgres://heartline:secret-1@db1:5432,db2:5433/heartline?target_session_attrs=read-write'

    expect(accepted(minimal({ rest: { store: { url } } })).store.url?.reveal()).toBe(url)
  })

  test.each([
    ['no `cluster` is a daemon alone', undefined, '15s', null],
    ['all keys of `cluster` have defaults', {}, '5s', { vantage: 'default', quorum: 'majority', leaseMs: 15_000 }],
    ['the lease is three intervals if those are longer', {}, '20s', { leaseMs: 60_000 }],
    ['a number of places may come from the environment', { quorum: '${QUORUM}' }, '5s', { quorum: 2 }],
    [
      'a lease is kept if it is long enough',
      { lease: '15s', vantage: 'fra1' },
      '5s',
      { leaseMs: 15_000, vantage: 'fra1' },
    ],
  ])('%s', (_what, cluster, interval, expected) => {
    const rest = { store: { url: 'postgres://127.0.0.1/heartline' }, poll: { interval }, ...(cluster && { cluster }) }

    const config = accepted(minimal({ rest }), { env: { QUORUM: '2' } })

    if (expected === null) expect(config.cluster).toBeNull()
    else expect(config.cluster).toMatchObject(expected)
  })

  test('the slowest endpoint counts for the lease: one without a head is polled once a minute', () => {
    const rest = {
      store: { url: 'postgres://127.0.0.1/heartline' },
      poll: { interval: '5s' },
      cluster: { lease: '15s' },
    }

    const result = configFromObject(minimal({ own: { checks: ['liveness'] }, rest }), '/', {})

    expect(result).toEqual({
      ok: false,
      problems: [
        { path: 'cluster.lease', message: 'expected at least 3 min, three intervals of the slowest endpoint' },
      ],
    })
  })

  test('a folder cannot be the store', () => {
    const folder = folderWith({})

    const result = configFromObject(minimal({ rest: { store: { path: '.' } } }), folder, {})

    expect(result).toEqual({ ok: false, problems: [{ path: 'store.path', message: 'is a folder, expected a file' }] })
  })

  test('a store inside of a file is an error, and one that cannot be looked up is left to the daemon', () => {
    const folder = folderWith({ file: 'x' })
    symlinkSync('loop', join(folder, 'loop'))
    const load = (path: string) => configFromObject(minimal({ rest: { store: { path } } }), folder, {})

    expect(load('file/heartline.db')).toEqual({
      ok: false,
      problems: [{ path: 'store.path', message: 'is inside of a file, expected a folder' }],
    })
    expect(load('loop/heartline.db').ok).toBe(true)
  })

  test('a reference in braces and brackets needs no quotes', () => {
    const text =
      'networks: [{ name: n, family: ethereum, chain_id: ${ID}, endpoints: [{ name: a, url: http://127.0.0.1/${KEY}, headers: { x-api-key: ${KEY} } }] }]'
    const folder = folderWith({ 'flow.yaml': text })

    const { config } = valid(loadConfig(join(folder, 'flow.yaml'), { KEY: 'k-1', ID: '5' }))

    expect(config.networks[0]?.network.chainId).toBe(5)
    expect(config.networks[0]?.endpoints[0]?.connection.url.reveal()).toBe('http://127.0.0.1/k-1')
    expect(config.networks[0]?.endpoints[0]?.connection.headers['x-api-key']?.reveal()).toBe('k-1')
  })

  test('an inherited timeout leaves room in a shorter interval', () => {
    const { poll, networks } = accepted(
      minimal({ network: { poll: { interval: '500ms' } }, rest: { poll: { interval: '3s' } } }),
    )

    expect(poll.timeoutMs).toBe(2400)
    expect(networks[0]?.poll.timeoutMs).toBe(400)
  })

  test.each([
    [1, 0, 100],
    [2, 1, 100],
    [80, 1, 160],
  ])('from lag_blocks: %d the two other lag thresholds follow', (lag_blocks, recover, down) => {
    const [network] = accepted(minimal({ network: { thresholds: { lag_blocks } } })).networks

    expect(network?.network.thresholds).toMatchObject({ lagRecoverBlocks: recover, lagBlocksDown: down })
  })

  test('an observer polls its own shard, a proxy all of the network’s', () => {
    const endpoints = [
      { name: 'observer', url: 'http://127.0.0.1:8080', kind: 'observer', shard: 1 },
      { name: 'proxy', url: 'http://127.0.0.1:8079' },
    ]

    const [network] = accepted(minimal({ network: { family: 'multiversx', shards: [0, 1], endpoints } })).networks

    expect(network?.endpoints.map(({ endpoint }) => endpoint.shards)).toEqual([[1], [0, 1]])
    expect(network?.endpoints[0]?.connection).toMatchObject({ kind: 'observer', shard: 1 })
  })

  test('a section with everything commented out is as if it were not there', () => {
    expect(accepted(minimal({ rest: { store: null, gateway: null, log: null } })).gateway.enabled).toBe(false)
  })
})

describe('maintenance and callers', () => {
  test('names are resolved, windows are one of two kinds', () => {
    const { maintenance, gateway } = accepted(
      minimal({
        rest: {
          maintenance: [
            { name: 'weekly', schedule: '0 3 * * 0', duration: '1h' },
            {
              name: 'once',
              networks: ['main'],
              endpoints: ['own-1'],
              from: '2026-12-01T03:00:00Z',
              until: '2026-12-01T05:00:00+01:00',
            },
          ],
          gateway: {
            enabled: true,
            callers: [
              {
                name: 'wallet',
                endpoint_id: 'abcdefghijklmnop',
                rate_limit: { requests: 100, per: '1s' },
                methods: ['eth_call', 'eth_get*', 'GET /address/*', '*'],
              },
            ],
          },
        },
      }),
    )

    expect(maintenance).toEqual([
      {
        name: 'weekly',
        networks: ['main'],
        endpoints: null,
        when: { kind: 'repeated', schedule: '0 3 * * 0', durationMs: 3_600_000, timeZone: 'UTC' },
      },
      {
        name: 'once',
        networks: ['main'],
        endpoints: ['own-1'],
        when: { kind: 'once', from: Date.UTC(2026, 11, 1, 3), until: Date.UTC(2026, 11, 1, 4) },
      },
    ])
    expect(gateway.callers[0]).toMatchObject({
      networks: ['main'],
      admin: false,
      rateLimit: { requests: 100, perMs: 1000 },
    })
    expect(gateway.callers[0]?.endpointId.reveal()).toBe('abcdefghijklmnop')
  })
})

describe("a node's URL", () => {
  test.each([
    ['http://127.0.0.1:8545/', 'http://127.0.0.1:8545'],
    ['https://rpc.example.org/v1/KEY', 'https://rpc.example.org/v1/KEY'],
    ['https://rpc.example.org/v1/KEY/', 'https://rpc.example.org/v1/KEY/'],
    ['https://rpc.example.org/v1/?key=KEY', 'https://rpc.example.org/v1/?key=KEY'],
  ])('%s keeps or omits the trailing slash as configured', (url, used) => {
    const config = accepted(minimal({ own: { url } }))

    expect(config.networks[0]?.endpoints[0]?.connection.url.reveal()).toBe(used)
  })
})

describe('interpolation', () => {
  test('the environment and files fill in texts, once', () => {
    const folder = folderWith({ 'key.txt': '\uFEFFfrom-file\r\n' })
    const own = { url: 'https://rpc.example.org/${KEY}/${file:key.txt}', headers: { 'X-Api-Key': '${NESTED} $${KEY}' } }

    const config = accepted(minimal({ own }), { baseDir: folder, env: { KEY: 'from-env', NESTED: '${KEY}' } })

    const connection = config.networks[0]?.endpoints[0]?.connection
    expect(connection?.url.reveal()).toBe('https://rpc.example.org/from-env/from-file')
    expect(connection?.headers['x-api-key']?.reveal()).toBe('${KEY} ${KEY}')
  })

  test('numbers and truth values may come from the environment', () => {
    const value = minimal({ network: { chain_id: '${CHAIN}' }, rest: { gateway: { admin: '${ADMIN}' } } })

    const config = accepted(value, { env: { CHAIN: '43114', ADMIN: 'true' } })

    expect(config.networks[0]?.network.chainId).toBe(43_114)
    expect(config.gateway.admin).toBe(true)
  })

  test('a value with YAML in it stays one text', () => {
    const folder = folderWith({ 'heartline.yaml': stringify(minimal({ own: { title: '${TITLE}' } })) })

    const { config } = valid(loadConfig(join(folder, 'heartline.yaml'), { TITLE: "x', url: 'http://evil" }))

    expect(config.networks[0]?.endpoints[0]?.endpoint.title).toBe("x', url: 'http://evil")
  })

  test('what every object inherits is not in the environment', () => {
    const result = configFromObject(minimal({ own: { title: '${constructor}' } }), '/', {})

    expect(result).toEqual({
      ok: false,
      problems: [
        { path: 'networks[0].endpoints[0].title', message: 'the environment variable constructor is not set' },
      ],
    })
  })

  test('every missing variable is named, and its value not judged as well', () => {
    const result = configFromObject(minimal({ own: { url: '${ONE}${TWO}' } }), '/', {})

    expect(result).toMatchObject({
      problems: [
        { message: 'the environment variable ONE is not set' },
        { message: 'the environment variable TWO is not set' },
      ],
    })
  })
})

describe('the command line', () => {
  test('wins over the file', () => {
    const value = minimal({ rest: { log: { level: 'warn' } } })

    const config = accepted(value, { overrides: { admin: true, logLevel: 'debug' } })

    expect(config.gateway.admin).toBe(true)
    expect(config.log.level).toBe('debug')
  })
})

describe('warnings', () => {
  const caller = { name: 'wallet', endpoint_id: 'abcdefghijklmnop', admin: true }

  test('what is doubtful is said, and runs', () => {
    const value = minimal({
      own: { tls: { insecure: true } },
      rest: { server: { listen: '0.0.0.0:9780' }, gateway: { enabled: true, listen: '[::]:9781', callers: [caller] } },
    })

    const { warnings } = valid(configFromObject(value, '/', {}))

    expect(warnings.map(({ path }) => path)).toEqual([
      'server.listen',
      'networks[0].endpoints[0].tls.insecure',
      'gateway.listen',
      'gateway.callers[0].admin',
    ])
  })

  test('a certificate authority for a URL that is not https is said', () => {
    const baseDir = join(import.meta.dirname, 'tls')
    const warningsOf = (own: object) =>
      valid(configFromObject(minimal({ own: { tls: { ca: 'a.crt' }, ...own } }), baseDir, {})).warnings

    expect(warningsOf({})).toEqual([
      { path: 'networks[0].endpoints[0].tls.ca', message: 'has no effect, because the URL is not https' },
    ])
    expect(warningsOf({ url: 'HTTPS://rpc.example.org' })).toEqual([])
    expect(warningsOf({ beacon_url: 'https://beacon.example.org' })).toEqual([])
  })

  test.each([
    ['ethereum', { thresholds: { heartbeat: '5m' } }, 'thresholds.heartbeat'],
    ['multiversx', { thresholds: { heartbeat: '5m' } }, 'thresholds.heartbeat'],
    ['avalanche', { thresholds: { min_peers: 5 } }, 'thresholds.min_peers'],
    ['avalanche', { poll: { liveness_interval: '5m' } }, 'poll.liveness_interval'],
    ['avalanche', { thresholds: { heartbeat: '5m' } }, null],
    ['ethereum', { thresholds: { min_peers: 5 }, poll: { liveness_interval: '5m' } }, null],
    ['multiversx', { thresholds: { min_peers: 0 }, poll: { liveness_interval: '5m' } }, null],
    ['avalanche', { thresholds: { min_peers: 1, heartbeat: '60s' } }, null],
  ])('what nodes of %s do not tell is said to have no effect: %o', (family, keys, path) => {
    const { warnings } = valid(configFromObject(minimal({ network: { family, ...keys } }), '/', {}))

    const effects = warnings.filter(({ message }) => message.startsWith('has no effect: '))
    expect(effects.map((warning) => warning.path)).toEqual(path === null ? [] : [`networks[0].${path}`])
  })

  test('a stall threshold that is no longer than a block is said', () => {
    const warningsOf = (network: object) => valid(configFromObject(minimal({ network }), '/', {})).warnings

    expect(warningsOf({ block_time: '12s', thresholds: { stall: '12s' } })).toEqual([
      {
        path: 'networks[0].thresholds.stall',
        message: 'is not longer than block_time: a healthy chain counts as halted between two blocks',
      },
    ])
    expect(warningsOf({ block_time: '12s', thresholds: { stall: '13s' } })).toEqual([])
    expect(warningsOf({ thresholds: { stall: '1s' } })).toEqual([])
  })

  test('a lag threshold that is shorter than blocks take to spread is said', () => {
    const warningsOf = (network: object) => valid(configFromObject(minimal({ network }), '/', {})).warnings

    expect(warningsOf({ block_time: '250ms' })).toEqual([
      {
        path: 'networks[0].thresholds.lag_blocks',
        message: 'is 0.75 s of blocks: a healthy endpoint lags while blocks spread',
      },
    ])
    expect(warningsOf({ block_time: '250ms', thresholds: { lag_blocks: 8 } })).toEqual([])
    expect(warningsOf({ block_time: '1s' })).toEqual([])
    expect(warningsOf({})).toEqual([])
  })

  test('the path of a chain in the URL of an avalanche endpoint is said, unless it gets no other path', () => {
    const warningsOf = (own: object) =>
      valid(configFromObject(minimal({ network: { family: 'avalanche' }, own }), '/', {})).warnings
    const warning = {
      path: 'networks[0].endpoints[0].url',
      message: 'ends with /ext/bc/…/rpc, which rpc_path appends: expected the URL before it',
    }

    expect(warningsOf({ url: 'https://rpc.example.org/KEY/ext/bc/C/rpc' })).toEqual([warning])
    expect(warningsOf({ url: 'https://rpc.example.org/ext/bc/C/rpc/', rpc_path: '/ext/bc/C/rpc' })).toEqual([warning])
    expect(warningsOf({ url: 'https://rpc.example.org/ext/bc/C/rpc', rpc_path: '/' })).toEqual([])
    expect(warningsOf({ url: 'https://rpc.example.org/KEY' })).toEqual([])
  })

  test('a channel or heartbeat without TLS is said, except on loopback, and a webhook without a secret', () => {
    const channels = [
      { name: 'a', type: 'alertmanager', urls: ['http://127.0.0.1:9093', 'http://am.example.org:9093'] },
      { name: 'b', type: 'slack', webhook_url: 'http://hooks.example.org/1' },
      { name: 'c', type: 'webhook', url: 'http://[::1]:8080' },
      { name: 'd', type: 'ntfy', url: 'http://localhost:8081', topic: 'ops' },
    ]
    const notify = { channels, heartbeat: { url: 'http://ping.example.org' } }

    const { warnings } = valid(configFromObject(minimal({ rest: { notify } }), '/', {}))

    const isPlain = 'is not https: messages and keys cross the network unencrypted'
    expect(warnings).toEqual([
      { path: 'notify.channels[0].urls[1]', message: isPlain },
      { path: 'notify.channels[1].webhook_url', message: isPlain },
      { path: 'notify.channels[2].secret', message: expect.stringContaining('messages are not signed') },
      { path: 'notify.heartbeat.url', message: isPlain },
    ])
  })

  test('may send what opens at once, without waiting for more', () => {
    const hook = { name: 'hook', type: 'webhook', url: 'https://hooks.example.org', group_wait: '0s' }
    const notify = { group_wait: '0s', channels: [hook, { ...hook, name: 'other', group_wait: '5s' }] }

    const { config } = valid(configFromObject(minimal({ rest: { notify } }), '/', {}))

    expect(config.notify.channels.map(({ groupWaitMs }) => groupWaitMs)).toEqual([0, 5000])
  })

  test('a route of the gateway without a gateway is said', () => {
    const channels = [{ name: 'am', type: 'alertmanager', urls: ['http://127.0.0.1:9093'] }]
    const notify = { channels, routes: [{ gateway: true, channels: ['am'] }] }

    expect(valid(configFromObject(minimal({ rest: { notify } }), '/', {})).warnings).toEqual([
      { path: 'notify.routes[0].gateway', message: 'has no effect until gateway.enabled is true' },
    ])
  })

  test('loopback, a token, and admin on both sides are not', () => {
    const value = minimal({
      rest: {
        server: { listen: '0.0.0.0:9780', token: 'abcdefghijklmnop' },
        gateway: { enabled: true, admin: true, listen: 'localhost:9781', callers: [caller] },
      },
    })

    expect(valid(configFromObject(value, '/', {})).warnings).toEqual([])
  })
})

describe('TLS files', () => {
  // Two self-signed pairs for localhost, made for this test.
  const folder = join(import.meta.dirname, 'tls')

  test('are read at load, and have to belong together', () => {
    const channel = { name: 'am', type: 'alertmanager', urls: ['https://am.example.org'], tls: { ca: 'b.crt' } }
    const good = minimal({
      own: { tls: { ca: 'b.crt' } },
      rest: { server: { tls: { cert: 'a.crt', key: 'a.key' } }, notify: { channels: [channel] } },
    })
    const bad = minimal({ rest: { server: { tls: { cert: 'a.crt', key: 'b.key' } } } })

    const config = accepted(good, { baseDir: folder })

    expect(new X509Certificate(config.server.tls?.cert ?? '').subject).toBe('CN=localhost')
    expect(config.server.tls?.key.reveal()).toContain('PRIVATE KEY')
    expect(config.networks[0]?.endpoints[0]?.connection.tls.ca).toContain('BEGIN CERTIFICATE')
    expect(config.notify.channels[0]?.ca).toContain('BEGIN CERTIFICATE')
    expect(configFromObject(bad, folder, {})).toEqual({
      ok: false,
      problems: [{ path: 'server.tls.key', message: 'the file holds no PEM private key for this certificate' }],
    })
  })
})

describe('the certificate of a listener', () => {
  test('that has expired or is not yet valid is said, and served', () => {
    const authority = createAuthority()
    onTestFinished(() => authority.remove())
    const old = authority.issue({ san: 'DNS:a.example.org', until: '20240501000000Z' })
    const early = authority.issue({ san: 'DNS:a.example.org', from: '20980501000000Z' })
    const folder = folderWith({
      'old.crt': old.cert,
      'old.key': old.key,
      // Only the first certificate is the listener's own.
      'early.crt': `${early.cert}${old.cert}`,
      'early.key': early.key,
    })
    const server = { tls: { cert: 'old.crt', key: 'old.key' } }
    const gateway = { tls: { cert: 'early.crt', key: 'early.key' } }

    const { warnings } = valid(configFromObject(minimal({ rest: { server, gateway } }), folder, {}))

    expect(warnings).toEqual([
      {
        path: 'server.tls.cert',
        message: 'the certificate expired on May  1 00:00:00 2024 GMT: clients reject it',
      },
      {
        path: 'gateway.tls.cert',
        message: 'the certificate is not valid before May  1 00:00:00 2098 GMT: clients reject it',
      },
    ])
  })
})

describe('what is no configuration at all', () => {
  test.each([
    ['a file that is not there', 'absent.yaml', 'cannot be read (ENOENT)'],
    ['a folder', '.', 'is not a regular file'],
    ['an empty file', 'empty.yaml', 'expected a mapping with at least networks'],
    ['more than 4 MiB', 'large.yaml', 'is larger than 4 MiB'],
    ['brackets without end', 'deep.yaml', 'nested too deeply'],
  ])('%s is one problem', (_, file, message) => {
    const folder = folderWith({
      'empty.yaml': '',
      'large.yaml': '#'.repeat(2 ** 22 + 1),
      'deep.yaml': '['.repeat(200_000),
    })

    const result = loadConfig(join(folder, file), {})

    expect(result.ok ? [] : result.problems.at(0)?.message).toBe(message)
  })

  test('__proto__ pollutes nothing', () => {
    const folder = folderWith({ 'heartline.yaml': 'networks: [{ __proto__: { polluted: true }, name: a }]' })

    const result = loadConfig(join(folder, 'heartline.yaml'), {})

    expect(result.ok).toBe(false)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('YAML 1.1 is not switched on by a directive', () => {
    const yaml = `%YAML 1.1\n---\n${stringify(minimal({ own: { title: 'PLACE' } })).replace('PLACE', 'yes')}`
    const folder = folderWith({ 'heartline.yaml': yaml })

    const { config } = valid(loadConfig(join(folder, 'heartline.yaml'), {}))

    expect(config.networks[0]?.endpoints[0]?.endpoint.title).toBe('yes')
  })
})

describe('secrets', () => {
  const CANARY = 'k3nar1-0123456789abcdef'

  test('a configuration prints without them', () => {
    const value = minimal({
      own: { url: `https://rpc.example.org/${CANARY}`, headers: { 'x-api-key': CANARY } },
      rest: {
        server: { token: CANARY },
        gateway: { enabled: true, callers: [{ name: 'wallet', endpoint_id: CANARY }] },
      },
    })

    const config = accepted(value)

    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: null, showHidden: true }),
      String(config.server.token),
    ]
    expect(printed.join('\n')).not.toContain(CANARY)
    expect(printed[0]).toContain('[redacted]')
  })

  test('whatever is wrong with a file, no value of it is shown, and nothing is thrown', () => {
    const text = readFileSync(join(import.meta.dirname, '../../heartline.example.yaml'), 'utf8')
    const folder = folderWith({})
    const file = join(folder, 'heartline.yaml')
    const pieces = [
      CANARY,
      ` ${CANARY}: `,
      `\${${CANARY}}`,
      `\${file:${CANARY}}`,
      `*${CANARY}`,
      `!${CANARY}`,
      `"${CANARY}`,
      `\t- ${CANARY}`,
    ]
    const edit = fc.record({
      at: fc.nat(text.length),
      cut: fc.nat(20),
      put: fc.oneof(
        fc.constantFrom(...pieces, `&${CANARY} `, `{${CANARY}`, `%${CANARY}\n---\n`, '[', '\n', ': ', '#'),
        fc.string(),
      ),
    })

    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 6 }), (edits) => {
        const broken = edits.reduce((now, { at, cut, put }) => now.slice(0, at) + put + now.slice(at + cut), text)
        const parsed = loadText(folder, broken)
        const said = parsed.ok ? parsed.warnings : parsed.problems
        expect(said.map((problem) => formatProblem(file, problem)).join('\n')).not.toContain(CANARY)
      }),
      { numRuns: 60 },
    )
  })

  test('any data at all is accepted or refused, never thrown at', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, maxDepth: 4 }), (value) => {
        expect(typeof configFromObject({ ...minimal(), server: value }, '/', {}).ok).toBe('boolean')
        expect(typeof configFromObject(value, '/', {}).ok).toBe('boolean')
      }),
    )
  })
})

function loadText(folder: string, text: string) {
  writeFileSync(join(folder, 'heartline.yaml'), text)
  return loadConfig(join(folder, 'heartline.yaml'), { KEY: 'abc' })
}

describe('a file with secrets that every user can read', () => {
  const URL_WITH_KEY = 'https://mainnet.example.com/v3/0123456789abcdef0123456789abcdef'
  const warningsOf = (config: object, mode: number, extra: Readonly<Record<string, string>> = {}) => {
    const file = join(folderWith({ 'heartline.yaml': stringify(config), ...extra }), 'heartline.yaml')
    chmodSync(file, mode)
    return valid(loadConfig(file, { KEY_URL: URL_WITH_KEY })).warnings.map((warning) => formatProblem('x', warning))
  }
  const WARNING =
    'x: contains secrets, and every user of this machine can read it: chmod 600, or use ${file:PATH} or ${NAME}'

  test.each([
    ['a key in the path of a URL', minimal({ own: { url: URL_WITH_KEY } })],
    ['a key in the query of a URL', minimal({ own: { url: 'https://node.example.com/?key=abc' } })],
    ['a password in a URL', minimal({ own: { url: 'https://me:secret@node.example.com/' } })],
    ['a header', minimal({ own: { headers: { 'X-Key': 'abc' } } })],
    [
      'a header that begins like a URL',
      minimal({ own: { headers: { 'X-Sites': 'https://a.example, https://b.example' } } }),
    ],
    ['the token of the page', minimal({ rest: { server: { token: 'a-token-of-the-page' } } })],
  ])('is a warning: %s', (_what, config) => {
    expect(warningsOf(config, 0o644)).toEqual([WARNING])
    expect(warningsOf(config, 0o600)).toEqual([])
    expect(warningsOf(config, 0o640)).toEqual([])
  })

  test('is none where the secrets are in the environment or in files, nor without secrets', () => {
    expect(warningsOf(minimal({ own: { url: '${KEY_URL}' } }), 0o644)).toEqual([])
    expect(warningsOf(minimal({ own: { url: '${file:url}' } }), 0o644, { url: URL_WITH_KEY })).toEqual([])
    expect(warningsOf(minimal({ own: { url: 'http://10.0.0.7:9650/ext/bc/C/rpc' } }), 0o644)).toEqual([])
    const mail = { name: 'mail', type: 'email', from: 'h@example.org', to: ['ops@example.org'] }
    const mailing = (smtp: string) => minimal({ rest: { notify: { channels: [{ ...mail, smtp }] } } })
    expect(warningsOf(mailing('smtp://mail.example.org:587'), 0o644)).toEqual([])
    expect(warningsOf(mailing('smtp://heartline:abc@mail.example.org:587'), 0o644)).toEqual([WARNING])
    const stored = (url: string) => minimal({ rest: { store: { url } } })
    expect(warningsOf(stored('postgres://heartline@db.example.org/heartline?sslrootcert=ca.pem'), 0o644)).toEqual([])
    expect(warningsOf(stored('postgres://heartline:abc@db.example.org/heartline'), 0o644)).toEqual([WARNING])
    expect(warningsOf(stored('postgres://heartline@db1:5432,db2:5432/heartline'), 0o644)).toEqual([])
    expect(warningsOf(stored('postgres://heartline:abc@db1:5432,db2:5432/heartline'), 0o644)).toEqual([WARNING])
  })

  test('is none where a short secret is part of a longer word', () => {
    const header = { own: { headers: { 'X-Key': '${file:key}' } } }
    expect(warningsOf(minimal({ ...header, network: { title: 'abcd, x-abc, abc-x' } }), 0o644, { key: 'abc' })).toEqual(
      [],
    )
    expect(warningsOf(minimal({ ...header, network: { title: 'an abc' } }), 0o644, { key: 'abc' })).toEqual([WARNING])
  })
})
