import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout that these tests belong to. */
export const checkout = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export interface Project {
  readonly folder: string
  write(files: Record<string, string>): void
  /** With the checkout's own packages, for what must not install anything. */
  borrowPackages(): void
  remove(): void
}

/** A small project of its own in a temporary folder, with copies of some of the checkout's files. */
export function createProject({ copies }: { copies: readonly string[] }): Project {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-house-'))
  for (const file of copies) cpSync(join(checkout, file), join(folder, file), { recursive: true })
  return {
    folder,
    write(files) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), text)
      }
    },
    borrowPackages: () => symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules')),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The files of a package whose one dependency lies beside it, so that npm needs no network; with `ofTests`, also one that only tests need. */
export function offlinePackage({ part, ofTests = false }: { part: string; ofTests?: boolean }): Record<string, string> {
  const whole = {
    name: 'whole',
    version: '1.0.0',
    dependencies: { part: 'file:part' },
    ...(ofTests && { workspaces: ['tests'] }),
  }
  const tests = { name: 'tests', version: '1.0.0', devDependencies: { tested: 'file:../tested' } }
  const tested = { name: 'tested', version: '1.0.0' }
  return {
    'package.json': JSON.stringify({ ...whole, type: 'module' }),
    'package-lock.json': JSON.stringify({
      name: 'whole',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: {
        '': whole,
        'node_modules/part': { resolved: 'part', link: true },
        part: { version: part },
        ...(ofTests && {
          'node_modules/tests': { resolved: 'tests', link: true },
          tests,
          'node_modules/tested': { resolved: 'tested', link: true },
          tested: { version: '1.0.0', dev: true },
        }),
      },
    }),
    'part/package.json': JSON.stringify({ name: 'part', version: part }),
    ...(ofTests && { 'tests/package.json': JSON.stringify(tests), 'tested/package.json': JSON.stringify(tested) }),
  }
}

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly pid: number
  /** Resolves with standard output once that contains the text; rejects when the process ends without it. */
  says(text: string): Promise<string>
  readonly ended: Promise<Ended>
}

/** Runs this Node on a script, as a process of its own. */
export function runNode(folder: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  if (child.pid === undefined) throw new Error('the process did not start')
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk)
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (status) => resolve({ status, stdout, stderr }))
  })
  return {
    pid: child.pid,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (stdout.includes(text)) resolve(stdout)
        }
        child.stdout.on('data', look)
        child.on('close', () => reject(new Error(`ended without saying "${text}": ${stdout}${stderr}`)))
        look()
      }),
  }
}
