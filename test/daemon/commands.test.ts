import { type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { whole } from '../../src/commands/arguments.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { MAIN, removeFolder, runHeartline, runHere, startDaemon, temporaryFolder, until } from '../support/daemon.ts'

const names = ['a', 'b', 'c']
let nodes: SimulatedNode[] = []
let folder: string
let file: string

beforeEach(async () => {
  folder = temporaryFolder()
  file = join(folder, 'heartline.yaml')
  const chain = createChain({ clock: systemClock, seed: 'commands', blockTimeMs: 12_000 })
  nodes = await Promise.all(
    names.map((name) => startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name })),
  )
  writeFileSync(file, JSON.stringify(configuration()))
})
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  removeFolder(folder)
})

const configuration = (poll = { interval: '300ms', timeout: '300ms' }) => ({
  server: { listen: '127.0.0.1:0' },
  poll,
  networks: [{ name: 'net', family: 'ethereum', endpoints: names.map((name, at) => ({ name, url: nodes[at]!.url })) }],
})

describe('probe', () => {
  // A new process makes one poll only, which may be slow on a busy machine.
  beforeEach(() => writeFileSync(file, JSON.stringify(configuration({ interval: '15s', timeout: '15s' }))))

  test('of healthy nodes prints a table and ends with 0', async () => {
    const { status, out } = await runHeartline(['probe', '-c', file])

    expect(status).toBe(0)
    const lines = out.trim().split('\n')
    expect(lines[0]).toMatch(/^NETWORK +ENDPOINT +STATE +HEIGHT +LAG/)
    expect(lines).toHaveLength(4)
    for (const line of lines.slice(1)) expect(line).toMatch(/^net +[abc] +up +\d+ +0 .* ok$/)
  })

  test('of a lagging endpoint ends with 1 and says how far, also when only that endpoint is selected', async () => {
    nodes[1]!.inject({ kind: 'lag', blocks: 12, gradual: false })

    for (const targets of [[], ['net'], ['net/b']]) {
      const { status, out } = await runHere(['probe', '-c', file, ...targets])

      expect(status).toBe(1)
      expect(out).toMatch(/^net +b +degraded .* 12 blocks \(2\.4 min\) behind$/m)
    }
  })

  test('of one that is down ends with 2; --json says the same to a script', async () => {
    nodes[2]!.inject({ kind: 'reset' })

    const { status, out } = await runHeartline(['probe', '-c', file, '--json'])

    expect(status).toBe(2)
    // In microseconds, as everywhere in the API.
    expect(out).not.toMatch(/\.\d{7}/)
    const { endpoints } = JSON.parse(out)
    expect(endpoints.map(({ endpoint, state }: { endpoint: string; state: string }) => [endpoint, state])).toEqual([
      ['a', 'up'],
      ['b', 'up'],
      ['c', 'down'],
    ])
    expect(endpoints[2].conditions).toEqual([
      { code: 'unreachable', message: 'the connection was closed before any answer' },
    ])
  })

  test('of something that is not configured ends with 64', async () => {
    const { status, err } = await runHere(['probe', '-c', file, 'net/missing'])

    expect(status).toBe(64)
    expect(err).toContain('net/missing')
  })
})

describe('the other commands', () => {
  test('check-config says that a good file is good', async () => {
    expect(await runHere(['check-config', '-c', file])).toMatchObject({ status: 0 })
  })

  test('schema prints a JSON Schema', async () => {
    const { status, out } = await runHere(['schema'])

    expect(status).toBe(0)
    expect(JSON.parse(out).properties.networks).toMatchObject({ type: 'array' })
  })

  test('backup copies the store of a running daemon, and never replaces a file', async () => {
    const daemon = await startDaemon(configuration(), { folder })
    const copy = join(folder, 'copy.db')

    const { status } = await runHeartline(['backup', copy, '-c', file])

    expect(status).toBe(0)
    const db = new Database(copy, { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    db.close()
    expect((await runHere(['backup', copy, '-c', file])).status).toBe(64)
    expect(await daemon.stop()).toBe(0)
  })

  test('backup without a name for the copy is a usage error', async () => {
    const { status, err } = await runHere(['backup', '', '-c', file])

    expect([status, err]).toEqual([64, 'heartline: backup: expected the name of a file\n'])
  })

  test('in a folder that does not exist any more, every command ends with a sentence, no stack', () => {
    const gone = join(folder, 'gone')
    const ends = (...args: string[]) => {
      mkdirSync(gone)
      const { status, stderr } = spawnSync(
        'sh',
        ['-c', 'rmdir "$PWD" && exec "$0" "$@"', process.execPath, MAIN, ...args],
        {
          cwd: gone,
          encoding: 'utf8',
        },
      )
      return [status, stderr]
    }

    const said = [70, 'heartline: the working directory does not exist any more: change to another one\n']
    expect(ends('serve', '-c', file)).toEqual(said)
    expect(ends('probe', '--url', 'http://127.0.0.1:1')).toEqual(said)
  })

  test('backup of a store that no daemon has made says so', async () => {
    const { status, err } = await runHere(['backup', join(folder, 'copy.db'), '-c', file])

    expect(status).toBe(70)
    expect(err).toContain('store.path: there is no such file')
    expect(readdirSync(folder)).toEqual(['heartline.yaml'])
  })

  test.skipIf(process.platform !== 'linux')(
    'output that cannot be written ends with a sentence, no stack',
    async () => {
      const full = openSync('/dev/full', 'w')
      const end = (args: string[], stdio: StdioOptions) =>
        new Promise<{ status: number | null; err: string }>((resolve) => {
          const child = spawn(process.execPath, [MAIN, ...args], { stdio })
          let err = ''
          child.stderr?.setEncoding('utf8').on('data', (text: string) => {
            err += text
          })
          child.once('close', (status) => resolve({ status, err }))
        })
      try {
        expect(await end(['schema'], ['ignore', full, 'pipe'])).toEqual({
          status: 70,
          err: 'heartline: the output cannot be written (ENOSPC)\n',
        })
        expect(await end(['check-config', '-c', '/no/such/file'], ['ignore', 'ignore', full])).toMatchObject({
          status: 78,
        })
      } finally {
        closeSync(full)
      }
    },
  )

  test('a command without its file says which it needs', async () => {
    const { status, err } = await runHere(['serve'], { env: { HEARTLINE_CONFIG: '' } })

    expect(status).toBe(64)
    expect(err).toContain('HEARTLINE_CONFIG')
  })

  test('--help names every command, an unknown one ends with 64', async () => {
    const { status, out } = await runHeartline(['--help'])

    expect(status).toBe(0)
    for (const command of ['serve', 'demo', 'probe', 'check-config', 'simulate', 'backup', 'schema']) {
      expect(out).toContain(command)
    }
    expect(await runHere(['nonsense'])).toMatchObject({
      status: 64,
      err: expect.stringContaining("unknown command 'nonsense'"),
    })
    expect((await runHere(['schema', 'nonsense'])).status).toBe(64)
  })

  test('an option for a number without a value is refused, not 0', () => {
    expect(() => whole(0, 65_535)('')).toThrow('expected a whole number from 0 to 65535')
    expect(whole(0, 65_535)('0')).toBe(0)
  })

  test('simulate answers as a node until it is ended', async () => {
    const child = spawn(process.execPath, [MAIN, 'simulate', '--family', 'ethereum', '--port', '0'])
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    await until(() => /http:\/\/127\.0\.0\.1:\d+/.test(out), 'it says where it is')
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(out)![0]

    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
    })

    expect(await answer.json()).toMatchObject({ id: 1, result: expect.stringMatching(/^0x/) })
    child.kill('SIGTERM')
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
  })
})

describe('demo', () => {
  test('prints the page’s address last, shows nine nodes, a gateway in use and a message that was sent, and leaves nothing behind', async () => {
    const child = spawn(process.execPath, [MAIN, 'demo', '--port', '0'], { env: { ...process.env, TMPDIR: folder } })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    await until(() => /^http:\/\/\S+$/m.test(out), 'the address is printed')
    const url = out.trim().split('\n').at(-1)!

    await until(async () => (await fetch(`${url}-/ready`)).status === 200, 'it is ready')
    const status = (await (await fetch(`${url}api/v1/status`)).json()) as { networks: { endpoints: unknown[] }[] }

    expect(status.networks.map(({ endpoints }) => endpoints.length)).toEqual([3, 3, 3])
    expect((await fetch(url)).headers.get('content-type')).toMatch(/^text\/html/)

    const [, forwarded = '', id = ''] = /curl (\S+\/ethereum\/([\w-]{43})) /.exec(out) ?? []
    const answer = await fetch(forwarded, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
    })
    expect(await answer.json()).toMatchObject({ id: 1, result: expect.stringMatching(/^0x/) })
    await until(async () => {
      const text = await (await fetch(`${url}api/v1/gateway`)).text()
      expect(text).not.toContain(id)
      const { callers } = JSON.parse(text) as { callers: { name: string; requests: number; refused: number }[] }
      const asked = (name: string) => callers.find((caller) => caller.name === name)?.requests ?? 0
      return asked('you') > 0 && asked('background') > 12
    }, 'the gateway is used')
    await until(async () => {
      const { deliveries } = (await (await fetch(`${url}api/v1/notifications`)).json()) as {
        deliveries: { channel: string; result: string | null }[]
      }
      return deliveries.some(({ channel, result }) => channel === 'demo' && result === 'sent')
    }, 'a message about a fault has reached the receiver of the demo')
    child.kill('SIGINT')
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
    expect(readdirSync(folder)).toEqual(['heartline.yaml'])
  })

  test('with a port that is taken ends with one sentence', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo

    const { status, err } = await runHeartline(['demo', '--port', `${port}`], { env: { TMPDIR: folder } })

    expect([status, err]).toEqual([70, 'heartline demo: server.listen: the address cannot be used (EADDRINUSE)\n'])
    server.close()
  })

  test('with a TMPDIR that cannot be used ends with one sentence', async () => {
    const missing = join(folder, 'missing')

    const { status, err } = await runHeartline(['demo', '--port', '0'], { env: { TMPDIR: missing } })

    const sentence = `heartline demo: no folder for the store can be made in ${missing} (ENOENT): set TMPDIR\n`
    expect([status, err]).toEqual([70, sentence])
  })

  // A terminal that is closed sends SIGHUP.
  test.each(['SIGTERM', 'SIGHUP'] as const)(
    'stops at %s while it writes its past, and leaves nothing behind',
    async (signal) => {
      const child = spawn(process.execPath, [MAIN, 'demo', '--port', '0'], { env: { ...process.env, TMPDIR: folder } })
      let out = ''
      child.stdout.on('data', (chunk) => {
        out += String(chunk)
      })
      await until(
        () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith('demo.db')),
        'the store is open',
      )

      child.kill(signal)

      expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
      expect(out).toBe('')
      expect(readdirSync(folder)).toEqual(['heartline.yaml'])
    },
  )
})
