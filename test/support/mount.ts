import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let may: boolean | undefined

/** Mounts need root: without it tests that make a disk of their own are skipped, loudly, and never where nothing may be skipped. */
export function mayMount(): boolean {
  may ??= tryMount()
  if (may) return true
  if (process.env.CI === 'true') throw new Error('the tests of a full and a read-only disk need root, to mount one')
  console.warn('\n!!! SKIPPED: the tests of a full and a read-only disk need root, to mount one\n')
  return false
}

function tryMount(): boolean {
  if (process.getuid?.() !== 0) return false
  const directory = mkdtempSync(join(tmpdir(), 'heartline-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory], { stdio: 'ignore' })
    execFileSync('umount', [directory])
    return true
  } catch {
    // Root in a container that may not mount.
    return false
  } finally {
    rmSync(directory, { recursive: true })
  }
}
