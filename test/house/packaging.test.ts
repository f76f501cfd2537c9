import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'
import { checkout, runNode } from '../support/project.ts'
import { requirePackage } from '../support/system-package.ts'

const read = (file: string) => readFileSync(join(checkout, file), 'utf8')
const hasSystemd = requirePackage('systemd-analyze', 'systemd')

describe('the Dockerfile', () => {
  const stages = read('Dockerfile')
    .split(/^FROM /m)
    .slice(1)
  const instructions = stages.map((stage) =>
    stage
      .replaceAll(/\\\n/g, ' ')
      .split('\n')
      .filter((line) => /^[A-Z]+ /.test(line)),
  )
  const ofLast = (keyword: string) => instructions.at(-1)!.filter((line) => line.startsWith(`${keyword} `))

  test('copies what exists, and what .dockerignore lets through', () => {
    const admitted = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const sources = instructions
      .flat()
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(/\s+/).slice(1, -1))

    expect(sources.length).toBeGreaterThan(5)
    for (const source of sources) {
      const path = source.replace(/^\.\//, '')
      expect(existsSync(join(checkout, path)), path).toBe(true)
      expect(
        admitted.some((entry) => path === entry || path.startsWith(`${entry}/`)),
        path,
      ).toBe(true)
    }
    expect(read('.dockerignore')).toMatch(/^\*$/m)
  })

  test('names the images that it builds on by digest, with the tag beside it', () => {
    const text = read('Dockerfile')
    const bases = stages.map((stage) => stage.split(/\s/, 1)[0] ?? '')

    for (const base of bases) expect(base).toMatch(/@sha256:[0-9a-f]{64}$/)
    for (const name of bases.map((base) => base.split('@')[0])) expect(text).toMatch(new RegExp(`# .*${name}:[\\w.-]+`))
  })

  // SQLite is compiled in the first image for the Node of the second one. Node 22 gets security fixes until April 2027.
  test('compiles and runs with the same version of Node', () => {
    expect(/# .*\bnode:(\d+)/.exec(read('Dockerfile'))?.[1]).toBe('22')
    expect(stages.at(-1)).toMatch(/^gcr\.io\/distroless\/nodejs22-debian12@/)
  })

  test('installs packages without their scripts, except that of SQLite', () => {
    const commands = instructions.flat().flatMap((line) => line.match(/\bnpm (?!_)[^&]*/g) ?? [])
    const withScripts = commands.filter((command) => !/ --ignore-scripts( |$)/.test(command))

    expect(commands.map((command) => command.split(' ', 2)[1])).toEqual(['ci', 'prune', 'rebuild'])
    expect(withScripts).toEqual([expect.stringMatching(/^npm rebuild better-sqlite3 -/)])
  })

  test('leaves no downloader of prebuilt binaries in the image', () => {
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
      cpSync(join(checkout, file), join(folder, file))
    }
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> }
    for (const [path, { dev }] of Object.entries(packages)) {
      const file = join(path, 'package.json')
      if (path.startsWith('node_modules/') && dev !== true && existsSync(join(checkout, file))) {
        cpSync(join(checkout, file), join(folder, file))
      }
    }
    const left = () => readdirSync(join(folder, 'node_modules'))
    const before = left()

    const prune = instructions.flat().find((line) => line.includes('npm prune'))!
    const { status, stderr } = spawnSync('sh', ['-c', prune.slice('RUN '.length)], { cwd: folder, encoding: 'utf8' })

    const downloader = ['prebuild-install', 'tar-fs', 'simple-get', 'node-abi', 'rc']
    expect(status, stderr).toBe(0)
    expect(before).toEqual(expect.arrayContaining(downloader))
    expect(left().filter((name) => downloader.includes(name))).toEqual([])
    expect(left()).toEqual(expect.arrayContaining(['better-sqlite3', 'bindings', 'file-uri-to-path', 'pg', 'fastify']))
  }, 60_000)

  test('ends with an image that holds all that runs, belongs to no root, and keeps its data in a volume', () => {
    const copied = ofLast('COPY').join('\n')

    for (const part of ['package.json', 'node_modules', 'dist', 'migrations', 'docs/runbooks', 'healthcheck.mjs']) {
      expect(copied).toContain(part)
    }
    expect(ofLast('USER')).toEqual(['USER 65532:65532'])
    expect(ofLast('VOLUME')).toEqual(['VOLUME /var/lib/heartline'])
    expect(ofLast('RUN')).toEqual([])
  })

  test('starts and asks for health without a shell, by files that are in the image', () => {
    const entry = JSON.parse(ofLast('ENTRYPOINT')[0]!.slice('ENTRYPOINT '.length)) as string[]
    const check = /CMD (\[.*\])/.exec(ofLast('HEALTHCHECK')[0]!)![1]!

    expect(entry.at(-1)).toBe('/app/dist/src/main.js')
    expect(JSON.parse(check)).toEqual([entry[0], '/app/packaging/healthcheck.mjs'])
    expect(existsSync(join(checkout, 'packaging/healthcheck.mjs'))).toBe(true)
  })
})

test.each([
  ['compose.yaml', ['prom/prometheus', 'prom/alertmanager', 'grafana/grafana']],
  ['compose.cluster.yaml', ['postgres', 'prom/prometheus', 'grafana/grafana']],
])('%s names the images of others by digest, with the tag beside it', (file, names) => {
  const images = read(file)
    .split('\n')
    .filter((line) => /^\s*image:/.test(line) && line.trim() !== 'image: heartline')

  expect(images.map((line) => /image: ([^@]+)/.exec(line)?.[1])).toEqual(names)
  for (const line of images) expect(line).toMatch(/@sha256:[0-9a-f]{64}  # v?\d[\w.-]*$/)
})

test('compose.yaml keeps the history where the image lets a user without rights write', () => {
  const { services } = parse(read('compose.yaml')) as { services: { heartline: { volumes: string[] } } }
  const config = services.heartline.volumes.find((volume) => volume.includes('/etc/heartline/heartline.yaml'))!
  const { store } = parse(read(config.split(':')[0]!)) as { store: { path: string } }

  expect(services.heartline.volumes).toContain('heartline:/var/lib/heartline')
  expect(store.path).toMatch(/^\/var\/lib\/heartline\//)
})

test('better-sqlite3 downloads no binary where npm_config_build_from_source is set', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => removeFolder(folder))
  cpSync(join(checkout, 'node_modules/better-sqlite3/package.json'), join(folder, 'package.json'))
  const downloader = join(checkout, 'node_modules/prebuild-install/bin.js')
  const env = { ...process.env, npm_config_build_from_source: 'true', npm_config_loglevel: 'info' }

  const { status, stderr } = await runNode(folder, [downloader], env).ended

  expect(status).toBe(1)
  expect(stderr).toContain('--build-from-source specified, not attempting download')
  expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).scripts.install).toMatch(
    /^prebuild-install \|\| /,
  )
})

describe('the health check of the container', () => {
  async function check(status: number | null): Promise<number | null> {
    const server = createServer((_request, response) => {
      if (status !== null) response.writeHead(status).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const HEARTLINE_HEALTH_URL = `http://127.0.0.1:${port}/-/healthy`
    return (await runNode(checkout, ['packaging/healthcheck.mjs'], { ...process.env, HEARTLINE_HEALTH_URL }).ended)
      .status
  }

  test.each([
    ['a daemon that is well', 200, 0],
    ['a daemon that says otherwise', 503, 1],
    ['a daemon that hangs', null, 1],
  ])(
    'of %s ends accordingly',
    async (_title, status, expected) => {
      expect(await check(status)).toBe(expected)
    },
    60_000,
  )

  test('without a listener it exits with 1 and says why', async () => {
    const env = { ...process.env, HEARTLINE_HEALTH_URL: 'http://127.0.0.1:1/-/healthy' }

    expect(await runNode(checkout, ['packaging/healthcheck.mjs'], env).ended).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

test('Heartline starts no program except itself, systemd-notify, and PostgreSQL for the demo of a cluster', () => {
  const files = readdirSync(join(checkout, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const starting = files.filter((file) => /node:(?:child_process|cluster)/.test(read(join('src', file))))

  expect(starting.toSorted()).toEqual([
    'commands/demo-cluster.ts',
    'commands/service-manager.ts',
    'commands/temporary-postgres.ts',
    'store/sqlite/integrity.ts',
  ])
  expect(read('src/store/sqlite/integrity.ts')).toMatch(/\bspawn\(process\.execPath,/)
  expect(read('src/commands/service-manager.ts')).toMatch(/\bspawn\(TOOL,/)
  expect(read('src/commands/service-manager.ts')).toContain("const TOOL = 'systemd-notify'")
})

describe('the systemd unit', () => {
  const unit = read('packaging/heartline.service')

  test('waits for readiness, watches, and does not start again what starting again cannot cure', () => {
    for (const line of ['Type=notify', 'NotifyAccess=all', 'WatchdogSec=60', 'RestartPreventExitStatus=64 78']) {
      expect(unit.split('\n')).toContain(line)
    }
    // RestartPreventExitStatus has no effect on it: a file with an error would be tried ten times.
    expect(unit).not.toMatch(/^ExecStartPre/m)
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m)
  })

  test('takes all capabilities away, and leaves only its own folders writable', () => {
    for (const line of ['User=heartline', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'ProtectSystem=strict']) {
      expect(unit.split('\n')).toContain(line)
    }
    expect(unit).not.toMatch(/^ReadWritePaths/m)
  })

  test.runIf(hasSystemd)('is understood by systemd in every line, and leaves it little to be afraid of', () => {
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    const file = join(folder, 'heartline.service')
    writeFileSync(file, unit.replaceAll('/usr/bin/node', process.execPath))

    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    const exposure = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file])

    expect(`${verified.stdout}${verified.stderr}`).toBe('')
    expect(verified.status).toBe(0)
    expect(exposure.status).toBe(0)
  })
})
