import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { openDatabase } from '../../src/store/postgres/migrate.ts'
import { openSpool } from '../../src/store/spool.ts'
import { removeFolder, runHeartline, runHere, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startRelayToOldPostgres } from '../support/relay.ts'

const ENDPOINT_ID = 'wallet-0123456789abcdef'
const LONG = 120_000

describe.skipIf(!hasPostgres())('a daemon whose history is in PostgreSQL', () => {
  let postgres: PostgresServer
  let node: SimulatedNode

  beforeAll(async () => {
    postgres = await startPostgres()
    const chain = createChain({ clock: systemClock, seed: 'database', blockTimeMs: 1000 })
    node = await startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name: 'own-1' })
  }, LONG)
  afterAll(async () => {
    await node?.stop()
    await postgres?.remove()
  })

  const configOf = (url: string) => ({
    store: { url, path: 'spool.db' },
    poll: { interval: '1s', timeout: '1s' },
    networks: [{ name: 'ethereum', family: 'ethereum', endpoints: [{ name: 'own-1', url: node.url }] }],
  })

  async function start(url: string, folder = temporaryFolder()) {
    const daemon = await startDaemon(configOf(url), { folder })
    onTestFinished(async () => {
      await daemon.stop('SIGKILL')
      removeFolder(folder)
    })
    const polls = async () => {
      const { text } = await daemon.get('/api/v1/endpoints/ethereum/own-1/polls')
      return (JSON.parse(text) as { polls: { at: string }[] }).polls
    }
    const metric = async (name: string) =>
      Number(new RegExp(`^heartline_${name} (.*)$`, 'm').exec((await daemon.get('/metrics')).text)?.[1])
    return { daemon, folder, polls, metric }
  }

  test(
    'keeps its polls over a restart, and none twice over an outage of the database, while polling goes on',
    async () => {
      const url = await postgres.createDatabase()
      const first = await start(url)
      await until(async () => (await first.polls()).length >= 3, 'three polls are stored')
      expect(await first.metric('store_reachable')).toBe(1)

      await postgres.stop()
      await until(async () => (await first.metric('store_reachable')) === 0, 'the outage is noticed')
      const { last_polled_at: before } = await first.daemon.endpoint('ethereum', 'own-1')
      await until(async () => {
        const { last_polled_at: now, state } = await first.daemon.endpoint('ethereum', 'own-1')
        return state === 'up' && Date.parse(now ?? '') > Date.parse(before ?? '') + 2000
      }, 'polling goes on')
      await until(async () => (await first.metric('store_spool_rows')) > 0, 'rows wait in the spool')
      // A busy machine that stops the process for half a second impairs it for a moment too.
      await until(async () => !(await first.daemon.status()).observer.impaired, 'the outage does not impair it')
      const { observer } = await first.daemon.status()
      expect(observer.reasons).toContain('the database cannot be reached, so rows of the history wait for it')
      expect(await first.metric('store_degraded')).toBe(0)
      await postgres.start()
      await until(async () => (await first.metric('store_spool_rows')) === 0, 'the spool is empty')
      await first.daemon.stop()
      const second = await start(url, first.folder)

      const stored = (await second.polls()).map(({ at }) => Date.parse(at))
      expect(new Set(stored).size).toBe(stored.length)
      const gaps = stored.slice(1).map((at, place) => at - (stored[place] ?? 0))
      // The restart is the longest gap: every other poll is there.
      expect(gaps.toSorted((a, b) => b - a)[1]).toBeLessThan(2500)
      expect(await second.metric('store_rows_refused_total')).toBe(0)
    },
    LONG,
  )

  /** Three nodes, a channel that hears of them, and a daemon over one database, to be run one after the other. */
  async function scene(cluster?: object) {
    const told: string[] = []
    const hook = createServer((request, response) => {
      let body = ''
      request.on('data', (bytes) => {
        body += bytes
      })
      request.on('end', () => {
        const { type, data } = JSON.parse(body) as { type: string; data: { incidents: { endpoint: string }[] } }
        told.push(...data.incidents.map(({ endpoint }) => `${type} ${endpoint}`))
        response.end()
      })
    })
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void hook.close())
    const chain = createChain({ clock: systemClock, seed: 'away', blockTimeMs: 1000 })
    const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4']
    const [quiet, loud, well] = await Promise.all(
      hosts.map((host) =>
        startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name: host, host, port: 0 }),
      ),
    )
    if (quiet === undefined || loud === undefined || well === undefined) throw new Error('three nodes')
    onTestFinished(async () => void (await Promise.all([quiet, loud, well].map((one) => one.stop()))))
    const { port } = hook.address() as { port: number }
    const url = await postgres.createDatabase()
    const config = {
      store: { url, path: 'spool.db' },
      gateway: { enabled: true, listen: '127.0.0.1:0', callers: [{ name: 'wallet', endpoint_id: ENDPOINT_ID }] },
      ...(cluster && { cluster }),
      poll: { interval: '1s', timeout: '1s' },
      networks: [
        {
          name: 'ethereum',
          family: 'ethereum',
          endpoints: Object.entries({ quiet, loud, well }).map(([name, { url }]) => ({ name, url })),
        },
      ],
      notify: {
        channels: [{ name: 'hook', type: 'webhook', url: `http://127.0.0.1:${port}/`, group_wait: '100ms' }],
      },
    }
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    const run = async () => {
      const daemon = await startDaemon(config, { folder, early: true })
      onTestFinished(async () => void (await daemon.stop('SIGKILL')))
      const open = async () => {
        const { incidents = null } = JSON.parse((await daemon.get('/api/v1/incidents')).text) as {
          incidents?: { id: string; endpoint: string; closed_at: string | null }[]
        }
        if (incidents === null) return null
        return new Map(incidents.flatMap(({ id, endpoint, closed_at: at }) => (at === null ? [[endpoint, id]] : [])))
      }
      return { daemon, open }
    }
    return { told, quiet, loud, url, run }
  }

  test.each([
    ['a daemon alone', undefined],
    ['a member', { vantage: 'fra1', lease: '3s' }],
  ])(
    'that starts while the database is away knows silences and open incidents before it sends a message, then aliases: %s',
    async (_, cluster) => {
      const { told, quiet, loud, url, run } = await scene(cluster)
      const first = await run()
      loud.inject({ kind: 'http', status: 503 })
      await until(() => told.length > 0, 'a message about the loud one')
      const before = (await first.open())?.get('loud')
      const { status } = await fetch(`${first.daemon.url}/api/v1/silences`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ network: 'ethereum', endpoint: 'quiet', duration_seconds: 3600, reason: 'a test' }),
      })
      expect(status).toBeLessThan(300)
      await first.daemon.stop()
      await postgres.run(
        `INSERT INTO aliases (network, alias, target, endpoint, caller, at_ms, version)
         VALUES ('ethereum', 'mine', 'bc/C', 'well', 'wallet', 1, heartline_version())`,
        url,
      )

      await postgres.stop()
      const second = await run()
      quiet.inject({ kind: 'http', status: 503 })
      for (const name of ['quiet', 'loud']) {
        await until(async () => (await second.daemon.endpoint('ethereum', name)).state === 'down', `${name} is down`)
      }
      expect(await second.open()).toBeNull()
      await postgres.start()
      await until(async () => (await second.open())?.size === 2, 'the incidents of both')
      const both = (await second.open()) ?? new Map()
      loud.heal()
      await until(() => told.length > 1, 'a message about the end')

      await until(async () => {
        const { aliases } = JSON.parse((await second.daemon.get('/api/v1/gateway')).text) as { aliases: object[] }
        return aliases.length === 1
      }, 'the alias is known')
      expect(both.get('loud')).toBe(before)
      expect(told).toEqual(['incident.opened loud', 'incident.closed loud'])
    },
    LONG,
  )

  test(
    'that was stopped while the database was away goes on with what waits in its own spool, and tells nothing twice',
    async () => {
      const { told, loud, url, run } = await scene()
      const first = await run()
      await postgres.stop()
      loud.inject({ kind: 'http', status: 503 })
      await until(() => told.length > 0, 'a message about the loud one')
      const before = await first.open()
      await first.daemon.stop()
      await postgres.start()

      const second = await run()
      await until(async () => (await second.open())?.size === 1, 'the incident is known')
      await until(async () => (await second.daemon.endpoint('ethereum', 'loud')).state === 'down', 'it is still down')
      expect(await second.open()).toEqual(before)
      loud.heal()
      await until(() => told.length > 1, 'a message about the end')

      expect(told).toEqual(['incident.opened loud', 'incident.closed loud'])
      const stored = await postgres.run('SELECT id, closed_ms IS NULL AS open FROM incidents', url)
      expect(stored).toEqual([{ id: before?.get('loud'), open: false }])
    },
    LONG,
  )

  test(
    'ends within its time while the database hangs, and the next run has its polls',
    async () => {
      const url = await postgres.createDatabase()
      const first = await start(url)
      const made = () => first.metric('check_duration_seconds_count\\{network="ethereum",check="head"\\}')
      postgres.pause()
      onTestFinished(() => postgres.resume())
      const before = await made()
      await until(async () => (await made()) > before + 1, 'polls after it hangs')
      const polls = await made()
      const stoppedAt = Date.now()

      void first.daemon.stop()
      await until(() => first.daemon.process.exitCode !== null, 'it has ended', 30_000)
      postgres.resume()
      await start(url, first.folder)

      expect(first.daemon.process.exitCode).toBe(0)
      const count = `SELECT count(*)::int AS polls FROM polls WHERE at_ms <= ${stoppedAt}`
      await until(async () => Number((await postgres.run(count, url))[0]?.polls) >= polls, 'they are stored')
    },
    LONG,
  )

  test('exits with 78 if an address is taken, also while it waits for the database', async () => {
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    openSpool(join(folder, 'spool.db')).close()
    const taken = createServer()
    onTestFinished(() => void taken.close())
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const url = `postgres://heartline@127.0.0.1:${await freePort()}/heartline`
    const config = { ...configOf(url), server: { listen: `127.0.0.1:${port}` } }
    writeFileSync(join(folder, 'heartline.yaml'), JSON.stringify(config))

    const { status, err } = await runHeartline(['serve', '-c', join(folder, 'heartline.yaml')])

    expect([status, err]).toEqual([78, expect.stringMatching(/heartline: server\.listen: .*EADDRINUSE/)])
  })

  test(
    'exits with 78 and one sentence without the password if the database cannot be used',
    async () => {
      const good = await postgres.createDatabase()
      const foreign = await postgres.createDatabase('foreign_one')
      await postgres.run('CREATE TABLE bookings (id int)', foreign)
      const newer = await postgres.createDatabase('newer_one')
      await (await openDatabase({ url: new Secret(newer), clock: systemClock })).close()
      await postgres.run('INSERT INTO heartline_schema (version) SELECT max(version) + 2 FROM heartline_schema', newer)
      const old = await startRelayToOldPostgres(postgres)
      onTestFinished(() => old.close())
      const wrong: readonly (readonly [url: string, sentence: RegExp])[] = [
        [good.replace('secret-of-postgres', 'not-the-password'), /password|refused/i],
        [good.replace(/\/[a-z_0-9]+$/, '/missing'), /does not exist|missing|no database/i],
        [good.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${await freePort()}`), /./],
        [good.replace('127.0.0.1', 'no-such-host.invalid'), /./],
        [`${good}?sslmode=sometimes`, /sslmode/],
        [foreign, /./],
        [newer, /newer/],
        [good.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${old.port}`), /PostgreSQL 13.* at least 15/],
      ]
      const folder = temporaryFolder()
      onTestFinished(() => removeFolder(folder))

      for (const [at, [url, sentence]] of wrong.entries()) {
        writeFileSync(join(folder, 'heartline.yaml'), JSON.stringify(configOf(url)))
        const run = at === 0 ? runHeartline : runHere
        const { status, err } = await run(['serve', '-c', join(folder, 'heartline.yaml')])

        const said = err.split('\n').filter((line) => line.startsWith('heartline: '))
        expect([status, said.length], `${url}: ${err}`).toEqual([78, 1])
        expect(said[0]).toMatch(/^heartline: store\.url: /)
        expect(said[0]).toMatch(sentence)
        expect(err).not.toMatch(/secret-of-postgres|not-the-password/)
      }
    },
    LONG,
  )
})
