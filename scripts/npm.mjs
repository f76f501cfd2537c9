import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { which } from './which.mjs'

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
