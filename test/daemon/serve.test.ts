import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { run } from '../../src/commands/run.ts'
import { cpuWaitMs } from '../../src/daemon/cpu-wait.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import {
  MAIN,
  type RunningDaemon,
  removeFolder,
  runHeartline,
  runHere,
  startDaemon,
  temporaryFolder,
  until,
} from '../support/daemon.ts'
import { mayMount } from '../support/mount.ts'

const cleanups: (() => unknown)[] = []
let nodes: SimulatedNode[] = []

beforeAll(async () => {
  const chain = createChain({ clock: systemClock, seed: 'serve', blockTimeMs: 1000 })
  nodes = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name }),
    ),
  )
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  for (const node of nodes) node.heal()
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
})

function config(names: readonly string[], over: object = {}) {
  return {
    poll: { interval: '300ms', timeout: '300ms' },
    networks: [
      {
        name: 'net',
        family: 'ethereum',
        block_time: '1s',
        endpoints: names.map((name) => ({ name, url: nodes.find((node) => node.name === name)!.url })),
      },
    ],
    ...over,
  }
}

async function start(...[of, options]: Parameters<typeof startDaemon>): Promise<RunningDaemon> {
  const daemon = await startDaemon(of, options)
  cleanups.push(
    () => removeFolder(daemon.folder),
    () => daemon.stop('SIGKILL'),
  )
  return daemon
}

describe('starting', () => {
  test('is ready after the first round, not before', async () => {
    const slow = config(['a', 'b', 'c'], { poll: { interval: '3s', timeout: '1s' } })
    const daemon = await start(slow, { early: true })

    const early = await daemon.get('/-/ready')
    expect(early.status).toBe(503)
    expect((await daemon.get('/-/healthy')).status).toBe(200)
    await until(async () => (await daemon.get('/-/ready')).status === 200, 'it is ready')

    const { networks } = await daemon.status()
    expect(networks[0]?.endpoints.map(({ state }) => state)).toEqual(['up', 'up', 'up'])
  })

  test('with a bad configuration ends with 78 and every problem, and echoes nothing', async () => {
    const folder = temporaryFolder()
    cleanups.push(() => removeFolder(folder))
    const file = join(folder, 'bad.yaml')
    writeFileSync(
      file,
      'networks:\n  - name: Bad Name\n    family: ethereum\n    endpoints:\n      - { name: a, url: "ftp://CANARY-7f3a.example" }\n      - { name: a, url: "http://127.0.0.1:1", colour: red }\n',
    )

    for (const { status, err } of [
      await runHeartline(['serve', '-c', file]),
      await runHere(['check-config', '-c', file]),
    ]) {
      expect(status).toBe(78)
      expect(err).toContain('networks[0].name')
      expect(err).toContain('networks[0].endpoints[0].url')
      expect(err).toContain('networks[0].endpoints[1].colour: unknown key')
      expect(err).not.toContain('CANARY')
    }
  })
})

describe('stopping', () => {
  test('ends with 0, also while a node hangs, and leaves a closed store', async () => {
    const daemon = await start(config(['a', 'b'], { poll: { interval: '20s', timeout: '20s' } }), { early: true })
    nodes[1]!.inject({ kind: 'hang' })
    const before = performance.now()

    expect(await daemon.stop()).toBe(0)

    // Much less than the node has to answer, and much more than a busy machine takes.
    expect(performance.now() - before).toBeLessThan(15_000)
    expect(existsSync(join(daemon.folder, 'heartline.db-wal'))).toBe(false)
  })
})

describe('stopping with open connections', () => {
  test('a connection that has sent nothing holds it up for seconds, not for ever', async () => {
    const daemon = await start(config(['a']))
    const { hostname, port } = new URL(daemon.url)
    const silent = connect(Number(port), hostname)
    await new Promise((resolve) => silent.once('connect', resolve))

    expect(await daemon.stop()).toBe(0)

    expect(existsSync(join(daemon.folder, 'heartline.db-wal'))).toBe(false)
    silent.destroy()
  })
})

describe('loading', () => {
  test('a SIGHUP while the program is still loading does not end it', async () => {
    const before = process.listenerCount('SIGHUP')
    const ended = run(['serve', '-c', '/no/such/file'])
    const loading = process.listenerCount('SIGHUP')

    expect(await ended).toBe(78)
    expect([loading, process.listenerCount('SIGHUP')]).toEqual([before + 1, before])
  })

  // A hook of the module loader sends it before the first file after main.js.
  const script = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
  const load = `let sent = false
    export function load(url, _, next) {
      if (!sent && /file:.*(?<!main[.]js)$/.test(url)) sent = process.kill(process.pid, 'SIGHUP')
      return next(url)
    }`
  const hook = script(`import { register } from 'node:module'; register(${JSON.stringify(script(load))})`)

  test('a SIGHUP before the program has loaded does not end it', () => {
    const { status, signal } = spawnSync(process.execPath, ['--import', hook, MAIN, 'serve', '-c', '/no/such/file'])

    expect({ status, signal }).toEqual({ status: 78, signal: null })
  })
})

describe('one daemon', () => {
  let daemon: RunningDaemon
  beforeAll(async () => {
    daemon = await startDaemon(config(['a', 'b']))
  })
  afterAll(async () => {
    await daemon.stop('SIGKILL')
    removeFolder(daemon.folder)
  })

  const hangUp = () => daemon.process.kill('SIGHUP')

  /** Gives the daemon this configuration, and waits until all of its endpoints are up. */
  async function serveOnly(next: object): Promise<void> {
    const count = () => daemon.log().split('configuration reloaded').length
    const before = count()
    daemon.rewrite(next)
    hangUp()
    await until(() => count() > before, 'it is reloaded')
    await until(async () => {
      const [net] = (await daemon.status()).networks
      return net?.endpoints.every(({ state }) => state === 'up') ?? false
    }, 'all are up')
  }

  test('over a store in use ends with 75, and the other daemon continues', async () => {
    const second = await runHeartline(['serve', '-c', join(daemon.folder, 'heartline.yaml')])

    expect(second.status).toBe(75)
    expect(second.err).toMatch(/store/)
    expect((await daemon.get('/-/ready')).status).toBe(200)
  })

  test('on an address that is taken ends with 78 and a sentence', async () => {
    const folder = temporaryFolder()
    cleanups.push(() => removeFolder(folder))
    const file = join(folder, 'heartline.yaml')
    writeFileSync(file, JSON.stringify({ ...config(['a']), server: { listen: new URL(daemon.url).host } }))

    const { status, err } = await runHeartline(['serve', '-c', file])

    expect(status).toBe(78)
    expect(err).toContain('server.listen')
  })

  const reloaded = (ok: 0 | 1) =>
    until(
      async () => (await daemon.get('/metrics')).text.includes(`heartline_config_last_reload_successful ${ok}`),
      `the last reload is ${ok}`,
    )

  test('a good file is swapped in whole; what stays keeps its state', async () => {
    await serveOnly(config(['a', 'b']))
    nodes[0]!.inject({ kind: 'reset' })
    await until(async () => (await daemon.endpoint('net', 'a')).state === 'down', 'a is down')
    const { since } = await daemon.endpoint('net', 'a')

    daemon.rewrite(config(['a', 'c']))
    hangUp()

    await until(async () => (await daemon.get('/api/v1/endpoints/net/c')).status === 200, 'c is there')
    // A busy machine may have polled it late: then it is unknown for a moment.
    await until(async () => (await daemon.endpoint('net', 'a')).state === 'down', 'a is down')
    expect((await daemon.endpoint('net', 'a')).since).toBe(since)
    expect((await daemon.get('/api/v1/endpoints/net/b')).status).toBe(404)
    await until(async () => (await daemon.endpoint('net', 'c')).state === 'up', 'c is up')
    const { text } = await daemon.get('/metrics')
    expect(text).not.toContain('endpoint="b"')
    expect(text).toContain('endpoint="c"')
  })

  test('labels of metrics change with the file, and the endpoint keeps its counters', async () => {
    const labelled = (region: string) => {
      const { networks, ...rest } = config(['a'], { metrics: { labels: ['region'] } })
      const [net] = networks
      return {
        ...rest,
        networks: [{ ...net, endpoints: net?.endpoints.map((own) => ({ ...own, labels: { region } })) }],
      }
    }
    await serveOnly(config(['a']))
    const count = async (labels: string) => {
      const line = `heartline_checks_total{${labels},check="head"} `
      const { text } = await daemon.get('/metrics')
      return Number(
        text
          .split('\n')
          .find((one) => one.startsWith(line))
          ?.slice(line.length) ?? Number.NaN,
      )
    }
    await until(async () => (await count('network="net",endpoint="a"')) > 1, 'it is polled')
    const before = await count('network="net",endpoint="a"')

    daemon.rewrite(labelled('fra'))
    hangUp()
    await until(async () => (await count('network="net",endpoint="a",label_region="fra"')) >= before, 'it has a label')
    daemon.rewrite(labelled('"nyc"'))
    hangUp()

    const changed = 'network="net",endpoint="a",label_region="\\"nyc\\""'
    await until(async () => (await count(changed)) >= before, 'it has another label')
    expect(await count('network="net",endpoint="a"')).toBeNaN()
    expect(await count('network="net",endpoint="a",label_region="fra"')).toBeNaN()
  })

  test('a bad file changes nothing, and the metric says so until a good one comes', async () => {
    await serveOnly(config(['a', 'b']))
    const file = join(daemon.folder, 'heartline.yaml')
    const good = readFileSync(file, 'utf8')

    writeFileSync(file, good.replace('"family":"ethereum"', '"family":"CANARY-9b1c"'))
    hangUp()

    await reloaded(0)
    expect(daemon.log()).toContain('networks[0].family')
    expect(daemon.log()).not.toContain('CANARY')
    expect((await daemon.status()).networks[0]?.endpoints.map(({ state }) => state)).toEqual(['up', 'up'])

    writeFileSync(file, good)
    hangUp()
    await reloaded(1)
  })

  test('a node that hangs is down, and stays down in every look, with short intervals too', async () => {
    await serveOnly(config(['a', 'b'], { poll: { interval: '1s' } }))
    nodes[0]!.inject({ kind: 'hang' })
    await until(async () => (await daemon.endpoint('net', 'a')).state === 'down', 'a is down')

    const seen = new Set<string>()
    const polls = new Set<string | null>()
    let last = { at: 0, waitedMs: 0 }
    await until(async () => {
      const { state, last_polled_at } = await daemon.endpoint('net', 'a')
      const now = { at: performance.now(), waitedMs: cpuWaitMs(daemon.pid) ?? 0 }
      // It is rightly unknown after two intervals in which the daemon waits for a CPU.
      const hadCpu = now.waitedMs - last.waitedMs < (now.at - last.at) / 4
      if (state !== 'unknown' || hadCpu) seen.add(state)
      last = now
      polls.add(last_polled_at)
      return polls.size > 4
    }, 'it was polled four more times')

    expect([...seen]).toEqual(['down'])
  })
})

describe.skipIf(!mayMount())('the disk of the log is full', () => {
  test.each(['json', 'pretty'])('which ends neither the daemon nor, later, the log (%s)', async (format) => {
    const folder = temporaryFolder()
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
    cleanups.push(
      () => removeFolder(folder),
      () => execFileSync('umount', [disk]),
    )
    const file = join(folder, 'heartline.yaml')
    // A warning about each, so that every reload writes a page of the log.
    const channels = Array.from({ length: 30 }, (_, i) => ({
      name: `c${i}`,
      type: 'webhook',
      url: 'https://127.0.0.1:1',
    }))
    const written = {
      server: { listen: '127.0.0.1:0' },
      store: { path: ':memory:' },
      log: { format },
      notify: { channels },
    }
    writeFileSync(file, JSON.stringify(config(['a'], written)))
    const log = join(disk, 'log')
    const stderr = openSync(log, 'a')
    const child = spawn(process.execPath, [MAIN, 'serve', '-c', file], { stdio: ['ignore', 'ignore', stderr] })
    closeSync(stderr)
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    cleanups.push(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const pageUrl = () => /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(log, 'utf8'))?.[0]
    await until(() => pageUrl() !== undefined, 'it listens')
    const url = pageUrl()
    const reload = () => child.kill('SIGHUP')
    const size = () => statSync(log).size

    expect(() => writeFileSync(join(disk, 'fill'), Buffer.alloc(65_536))).toThrow('ENOSPC')
    await until(() => reload() && size() % 4096 === 0, 'the last page of the log is full')
    const full = size()
    reload()

    expect((await fetch(`${url}/-/healthy`)).status).toBe(200)
    rmSync(join(disk, 'fill'))
    await until(() => reload() && size() > full, 'it logs again')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})

describe('a restart', () => {
  test('goes on with an outage where it was, and the time between is unknown', async () => {
    const first = await start(config(['a', 'b']))
    nodes[0]!.inject({ kind: 'reset' })
    await until(async () => (await first.endpoint('net', 'a')).state === 'down', 'a is down')
    const { since } = await first.endpoint('net', 'a')
    expect(await first.stop()).toBe(0)
    const stoppedAt = Date.now()
    await new Promise((resolve) => setTimeout(resolve, 2500))

    const startedAt = Date.now()
    const second = await start(config(['a', 'b']), { folder: first.folder })

    // On a busy machine the last result may no longer hold, and the state is unknown until the next poll.
    let seen = await second.endpoint('net', 'a')
    await until(async () => {
      seen = await second.endpoint('net', 'a')
      return seen.state === 'down'
    }, 'a is still down')
    expect(seen).toMatchObject({ state: 'down', since })
    const query = `from=${new Date(stoppedAt + 700).toISOString()}&to=${new Date(startedAt).toISOString()}&step=1s`
    const { buckets } = JSON.parse((await second.get(`/api/v1/endpoints/net/a/history?${query}`)).text)
    for (const bucket of buckets) expect(bucket).toMatchObject({ up_seconds: 0, down_seconds: 0 })
    expect(buckets[0].unknown_seconds).toBeGreaterThan(0.5)
  })

  test('after kill -9 in the middle of writing loses no poll that was on disk', async () => {
    const folder = temporaryFolder()
    cleanups.push(() => removeFolder(folder))
    const file = join(folder, 'heartline.db')
    const count = () => {
      const db = new Database(file, { readonly: true })
      try {
        return db.prepare<[], { n: number }>('SELECT count(*) AS n FROM polls').get()?.n ?? 0
      } finally {
        db.close()
      }
    }
    let known = 0
    for (let round = 0; round < 3; round++) {
      const daemon = await startDaemon(config(['a', 'b', 'c'], { poll: { interval: '100ms', timeout: '100ms' } }), {
        folder,
      })
      await until(() => count() > known + 10 + round * 3, 'polls are written')
      known = count()
      await daemon.stop('SIGKILL')

      const db = new Database(file)
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
      db.close()
      expect(count()).toBeGreaterThanOrEqual(known)
    }
  })
})

test('no secret is in any log, metric, answer, page or row', async () => {
  const canary = 'CANARY4b7e91d2'
  const daemon = await start(
    {
      server: { listen: '127.0.0.1:0' },
      poll: { interval: '300ms', timeout: '300ms' },
      networks: [
        {
          name: 'net',
          family: 'ethereum',
          endpoints: [
            { name: 'a', url: `${nodes[0]!.url}/${canary}`, headers: { 'x-api-key': canary } },
            { name: 'b', url: `http://${canary}.invalid/` },
            { name: 'c', url: `http://127.0.0.1:1/${canary}`, rpc_path: `/${canary}` },
            { name: 'd', url: `${nodes[1]!.url.replace('//', `//user:${canary}@`)}/?key=${canary}` },
          ],
        },
      ],
    },
    { args: ['--log-level', 'debug'] },
  )
  await until(async () => (await daemon.endpoint('net', 'c')).state === 'down', 'c is down')
  daemon.process.kill('SIGHUP')

  const pages = [
    '/',
    '/metrics',
    '/api/v1/status',
    '/api/v1/endpoints/net/a',
    '/api/v1/endpoints/net/a/history',
    '/openapi.json',
  ]
  for (const page of pages) expect((await daemon.get(page)).text.toLowerCase()).not.toContain(canary.toLowerCase())
  await daemon.stop()
  expect(daemon.log().toLowerCase()).not.toContain(canary.toLowerCase())
  for (const name of readdirSync(daemon.folder).filter((entry) => entry.includes('.db'))) {
    expect(readFileSync(join(daemon.folder, name)).includes(canary)).toBe(false)
  }
})
