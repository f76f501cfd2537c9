import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { say } from './say.mjs'
import { which } from './which.mjs'

/** The commands that tests run, Debian's package for each, and what tests run where that cannot be installed. */
const NEEDED = [
  { command: 'promtool', debianPackage: 'prometheus' },
  { command: 'prometheus', debianPackage: 'prometheus' },
  { command: 'prometheus-alertmanager', debianPackage: 'prometheus-alertmanager' },
  { command: 'chromium-headless-shell', debianPackage: 'chromium-headless-shell', instead: 'chromium' },
  { command: 'faketime', debianPackage: 'faketime' },
  { command: 'systemd-analyze', debianPackage: 'systemd' },
  { command: 'cc', debianPackage: 'build-essential' },
  { command: 'initdb', debianPackage: 'postgresql', path: postgresFolders },
]
const APT_TIMEOUT_MS = 15 * 60_000
const POLICY = '/usr/sbin/policy-rc.d'

/** Installs what the tests would miss. Where that is not possible their tests are skipped, which CI=true turns into failures. */
export function ensureSystemPackages() {
  const missing = () => NEEDED.filter(({ command, path }) => which(command, path?.()) === null)
  if (missing().length === 0) return
  installDebianPackages([...new Set(missing().map(({ debianPackage }) => debianPackage))])
  const consequence = process.env.CI === 'true' ? 'its tests will FAIL, as CI=true' : 'its tests will be SKIPPED'
  for (const { command, debianPackage, instead } of missing()) {
    if (instead !== undefined && which(instead) !== null) continue
    say(`!!! ${command} is missing: ${consequence}. As root: apt-get install ${debianPackage}`)
  }
}

/** Debian keeps the programs of a server off the PATH, by version. */
function postgresFolders() {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return ''
  return readdirSync(versions)
    .map((version) => join(versions, version, 'bin'))
    .join(':')
}

/** True when apt-get installed them all. */
export function installDebianPackages(packages) {
  if (process.getuid?.() !== 0 || which('apt-get') === null) return false
  say(`installing Debian packages for the tests: ${packages.join(', ')}. A few minutes at most.`)
  return withoutStartingServices(packages, () => {
    // An update that fails may still leave lists that are good enough.
    apt(['update'])
    return apt(['install', '-y', '--no-install-recommends', ...packages])
  })
}

function apt(args) {
  const { status, stderr, error } = spawnSync(
    'apt-get',
    ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=2', '-o', 'Acquire::http::Timeout=30', ...args],
    {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: APT_TIMEOUT_MS,
      encoding: 'utf8',
    },
  )
  if (status === 0) return true
  say(`apt-get ${args[0]} failed: ${(error?.message ?? stderr ?? '').trim().split('\n').slice(-3).join(' | ')}`)
  return false
}

/** Debian starts what it installs; nobody asked for a Prometheus on port 9090 or a PostgreSQL on port 5432. */
function withoutStartingServices(packages, install) {
  const ours = !existsSync(POLICY)
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    return install()
  } finally {
    if (ours) rmSync(POLICY, { force: true })
    // Nor at the next boot. Where no systemd runs this fails, and nothing would be started anyway.
    const services = packages.filter((name) => /^(?:prometheus|postgresql)/.test(name))
    if (services.length > 0 && which('systemctl') !== null)
      spawnSync('systemctl', ['disable', ...services], { stdio: 'ignore' })
  }
}
