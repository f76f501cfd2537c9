import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { giveUp, say } from './say.mjs'
import { which } from './which.mjs'

/** Needed to compile better-sqlite3 where no prebuilt binary is available. */
const COMPILER = ['python3', 'make', 'g++']
const REMINDER_MS = 20_000

/**
 * Installs the packages of package-lock.json for this Node, those of the workspace `test/packages` only for tests. Where they are
 * installed, it takes milliseconds and prints nothing.
 */
export async function ensurePackages(root, { forTests, installDebianPackages }) {
  const wanted = stampOf(root, forTests)
  const found = readStamp(root)
  if (found === wanted || found === stampOf(root, true)) return
  if (looksInstalled(root, forTests)) return writeStamp(root, wanted)

  say(
    'installing packages (npm ci). better-sqlite3 is compiled where no prebuilt binary is available, in about a minute.',
  )
  let outcome = await install(root, forTests)
  if (outcome.status !== 0 && forTests && missingCompiler().length > 0) {
    if (installDebianPackages(missingCompiler())) outcome = await install(root, forTests)
  }
  if (outcome.status !== 0) giveUp(...explain(outcome))
  if (existsSync(join(root, 'node_modules/better-sqlite3')) && !nativeModuleLoads(root)) {
    giveUp(
      `better-sqlite3 was compiled for another Node than this one (${process.version}).`,
      'npm compiles with the headers that `nodedir` of its configuration names: see `npm config get nodedir`.',
    )
  }
  writeStamp(root, wanted)
  say(`packages installed in ${Math.round(outcome.durationMs / 1000)} s.`)
}

/** better-sqlite3 is native: installed for one Node, it does not load in another. */
function stampOf(root, forTests) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  return `${lock} abi-${process.versions.modules} ${process.platform}-${process.arch}${forTests ? ' for tests' : ''}\n`
}

const stampFile = (root) => join(root, 'node_modules/.heartline-installed')

function readStamp(root) {
  try {
    return readFileSync(stampFile(root), 'utf8')
  } catch {
    return null
  }
}

function writeStamp(root, stamp) {
  try {
    writeFileSync(stampFile(root), stamp)
  } catch {
    // Without the stamp the next start looks closer. A project without packages has no such folder.
  }
}

/** Whether npm was run by hand: the same versions, and the native module loads. */
function looksInstalled(root, forTests) {
  try {
    const { '': project, ...wanted } = packagesOf(join(root, 'package-lock.json'))
    const { '': _root, ...present } = packagesOf(join(root, 'node_modules/.package-lock.json'))
    const own = Object.keys(project.devDependencies ?? {}).map((name) => `node_modules/${name}`)
    const isOfTests = (path, { dev, resolved }) =>
      [path, resolved].some((place) => project.workspaces?.includes(place)) || (dev && !own.includes(path))
    for (const [path, entry] of Object.entries(wanted)) {
      if (!forTests && isOfTests(path, entry)) continue
      const found = present[path]
      if (found === undefined ? !entry.optional : found.version !== entry.version) return false
    }
    if (Object.keys(present).some((path) => wanted[path] === undefined)) return false
  } catch {
    return false
  }
  return nativeModuleLoads(root)
}

function nativeModuleLoads(root) {
  const script = "new (require('better-sqlite3'))(':memory:').close()"
  return spawnSync(process.execPath, ['-e', script], { cwd: root, stdio: 'ignore' }).status === 0
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages
}

/** No package runs a script of its own, except those that package.json names in `allowScripts`. */
async function install(root, forTests) {
  const startedAt = performance.now()
  const words = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  const installed = await npm(root, forTests ? words : [...words, '--workspaces=false'])
  const { allowScripts = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const trusted = Object.keys(allowScripts).filter(
    (name) => allowScripts[name] && existsSync(join(root, 'node_modules', name)),
  )
  const outcome = installed.status !== 0 || trusted.length === 0 ? installed : await npm(root, ['rebuild', ...trusted])
  return { ...outcome, durationMs: performance.now() - startedAt }
}

function npm(root, words) {
  const { command, args, env } = npmCommand([...words, '--loglevel=error'])
  const startedAt = performance.now()
  const elapsedMs = () => performance.now() - startedAt
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const keep = (chunk) => {
      output = (output + chunk).slice(-20_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    const reminder = setInterval(() => say(`still installing, ${Math.round(elapsedMs() / 1000)} s …`), REMINDER_MS)
    const done = (status) => {
      clearInterval(reminder)
      resolve({ status, output })
    }
    child.on('error', (error) => {
      keep(error.message)
      done(1)
    })
    child.on('close', (code) => done(code ?? 1))
  })
}

function missingCompiler() {
  return COMPILER.filter((command) => which(command) === null)
}

function explain({ output }) {
  const missing = missingCompiler()
  return [
    "installing failed. The end of npm's output:",
    ...output.trimEnd().split('\n').slice(-25),
    ...(missing.length > 0
      ? [`compiling better-sqlite3 needs ${COMPILER.join(', ')}; missing: ${missing.join(', ')}.`]
      : []),
    'Only installing needs the network.',
  ]
}

/** How to run npm with this very Node: native modules are built for the Node that runs npm, and `npm` on the PATH may use another. */
export function npmCommand(args) {
  const bin = dirname(process.execPath)
  const path = [bin, process.env.PATH ?? ''].join(delimiter)
  const cli = npmCli(bin, path)
  return {
    command: cli === null ? 'npm' : process.execPath,
    args: cli === null ? args : [cli, ...args],
    env: { ...process.env, PATH: path, ...headersBeside(dirname(bin)), ...compilerFlags() },
  }
}

function npmCli(bin, path) {
  const onPath = which('npm', path)
  const candidates = [
    process.env.npm_execpath ?? '',
    join(bin, '../lib/node_modules/npm/bin/npm-cli.js'),
    onPath === null ? '' : realpathSync(onPath),
  ]
  return candidates.find((file) => file.endsWith('npm-cli.js') && existsSync(file)) ?? null
}

/** Flags to compile better-sqlite3 12 for Node 24: docs/decisions/0006-node-24.md. */
function compilerFlags() {
  if (Number(process.versions.node.split('.')[0]) < 24) return {}
  const header = fileURLToPath(new URL('object-wrap.h', import.meta.url))
  return { CXXFLAGS: `${process.env.CXXFLAGS ?? ''} -include '${header}'`.trim() }
}

/** Headers shipped with this Node: no download, and never the headers of another Node. */
function headersBeside(prefix) {
  try {
    const header = readFileSync(join(prefix, 'include/node/node_version.h'), 'utf8')
    const part = (name) => header.match(new RegExp(`#define NODE_${name}_VERSION (\\d+)`))?.[1]
    const version = `v${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`
    return version === process.version ? { npm_config_nodedir: prefix } : {}
  } catch {
    return {}
  }
}
