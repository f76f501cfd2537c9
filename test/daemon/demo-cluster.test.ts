import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startTemporaryPostgres } from '../../src/commands/temporary-postgres.ts'
import { until } from '../support/daemon.ts'
import { hasPostgres } from '../support/postgres.ts'
import { checkout } from '../support/project.ts'

const PATIENCE_MS = 240_000

interface ClusterView {
  readonly members: readonly { readonly vantage: string }[]
  readonly leases: readonly { readonly vantage: string; readonly network: string; readonly member: string | null }[]
}

interface EndpointView {
  readonly state: string
  readonly conditions: readonly { readonly message: string }[]
}

test.runIf(hasPostgres())(
  'the demo of a cluster shows that places disagree and that another member takes over, and leaves nothing behind',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heartline-test-'))
    // As root, PostgreSQL runs as another user.
    chmodSync(folder, 0o711)
    const child = spawn(process.execPath, ['dist/src/main.js', 'demo', '--cluster', '--port', '0'], {
      cwd: checkout,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGTERM'))
    const exited = once(child, 'exit')
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    await until(() => /^http\S+$/m.test(out) || child.exitCode !== null, 'three members are ready')
    const url = /^http\S+$/m.exec(out)?.[0] ?? ''
    const ask = async <T>(path: string) => (await (await fetch(url + path)).json()) as T
    const members = [...out.matchAll(/^ {2}(\S+) in (\S+) .* kill -9 (\d+)$/gm)].map(([, name, place, pid]) => ({
      name,
      place,
      pid: Number(pid),
    }))

    expect(members.map(({ name, place }) => `${name} ${place}`)).toEqual(['fra-1 fra1', 'fra-2 fra1', 'nyc-1 nyc1'])
    await until(async () => {
      const { conditions } = await ask<EndpointView>('api/v1/endpoints/avalanche/own-2')
      return conditions.some(({ message }) =>
        message.startsWith('down from nyc1 only: connection refused; up from fra1'),
      )
    }, 'the places disagree')
    // On a busy machine a member may be late to renew its place in the list.
    const places = async () => (await ask<ClusterView>('api/v1/cluster')).members.map(({ vantage }) => vantage).sort()
    await expect.poll(places).toEqual(['fra1', 'fra1', 'nyc1'])
    process.kill(members[1]?.pid ?? 0, 'SIGKILL')
    await until(async () => {
      const { leases } = await ask<ClusterView>('api/v1/cluster')
      return new Set(leases.filter(({ vantage }) => vantage === 'fra1').map(({ member }) => member)).size === 1
    }, 'the other member of fra1 polls all of its networks')

    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(readdirSync(folder)).toEqual([])
    rmdirSync(folder)
  },
  PATIENCE_MS,
)

test('without an installed PostgreSQL no server is started', async () => {
  expect(await startTemporaryPostgres({ PATH: '/nowhere' }, '/nowhere')).toBeNull()
})

// It may run as another user, whose other processes can read its environment.
test.runIf(hasPostgres())('PostgreSQL gets no secrets of the environment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o777)
  const seen = join(folder, 'seen')
  for (const [program, status] of Object.entries({ initdb: 0, postgres: 1 })) {
    writeFileSync(join(folder, program), `#!/bin/sh\nenv >> '${seen}'\nexit ${status}\n`)
    chmodSync(join(folder, program), 0o755)
  }
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, PROVIDER_KEY: 'of-a-provider' }
  vi.stubEnv('PROVIDER_KEY', env.PROVIDER_KEY)
  onTestFinished(() => void vi.unstubAllEnvs())

  await expect(startTemporaryPostgres(env, '/nowhere')).rejects.toThrow('PostgreSQL did not start')

  const lines = readFileSync(seen, 'utf8').split('\n')
  expect(lines.filter((line) => line.startsWith('PATH='))).toEqual([`PATH=${env.PATH}`, `PATH=${env.PATH}`])
  expect(lines.filter((line) => line.includes('of-a-provider'))).toEqual([])
})
