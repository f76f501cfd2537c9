import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Checked {
  readonly status: number | null
  readonly output: string
}

/** Runs promtool in a folder with these files. */
export function promtool(args: readonly string[], files: Readonly<Record<string, string>> = {}): Checked {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-promtool-'))
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
