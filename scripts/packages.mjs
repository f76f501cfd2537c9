import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { npmCommand } from './npm.mjs'
import { giveUp, say } from './say.mjs'
import { which } from './which.mjs'

/** What better-sqlite3 needs where no ready-made binary can be had. */
const COMPILER = ['python3', 'make', 'g++']
const REMINDER_MS = 20_000

/** Makes node_modules what package-lock.json says, for this Node. Silent, and a matter of milliseconds, when it is. */
export async function ensurePackages(root, { installDebianPackages }) {
  const wanted = stampOf(root)
  if (readStamp(root) === wanted) return
  if (looksInstalled(root)) return writeStamp(root, wanted)

  say('installing packages (npm ci). better-sqlite3 is compiled, about a minute, where no ready binary can be had.')
  let outcome = await npmCi(root)
  if (outcome.status !== 0 && installDebianPackages !== null && missingCompiler().length > 0) {
    if (installDebianPackages(missingCompiler())) outcome = await npmCi(root)
  }
  if (outcome.status !== 0) giveUp(...explain(outcome))
  writeStamp(root, wanted)
  say(`packages installed in ${Math.round(outcome.durationMs / 1000)} s.`)
}

/** better-sqlite3 is native: what one Node installed does not load in another. */
function stampOf(root) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  return `${lock} abi-${process.versions.modules} ${process.platform}-${process.arch}\n`
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
    // Without it, the next start takes a closer look; a project without any package has no such folder.
  }
}

/** Somebody ran npm by hand: the same versions, and the native part loads. */
function looksInstalled(root) {
  try {
    const wanted = packagesOf(join(root, 'package-lock.json'))
    const present = packagesOf(join(root, 'node_modules/.package-lock.json'))
    for (const [path, entry] of Object.entries(wanted)) {
      const found = present[path]
      if (found === undefined ? !entry.optional : found.version !== entry.version) return false
    }
    if (Object.keys(present).some((path) => wanted[path] === undefined)) return false
  } catch {
    return false
  }
  const script = "new (require('better-sqlite3'))(':memory:').close()"
  return spawnSync(process.execPath, ['-e', script], { cwd: root, stdio: 'ignore' }).status === 0
}

function packagesOf(lockFile) {
  const { '': _root, ...packages } = JSON.parse(readFileSync(lockFile, 'utf8')).packages
  return packages
}

function npmCi(root) {
  const { command, args, env } = npmCommand(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'])
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
      resolve({ status, output, durationMs: elapsedMs() })
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
    'npm ci failed. The end of what it said:',
    ...output.trimEnd().split('\n').slice(-25),
    ...(missing.length > 0
      ? [`compiling better-sqlite3 needs ${COMPILER.join(', ')}; missing: ${missing.join(', ')}.`]
      : []),
    'installing needs the network once; after that, none.',
  ]
}
