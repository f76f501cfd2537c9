import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whether a file has these contents already. */
export function isInPlace(path, contents) {
  return existsSync(path) && readFileSync(path).equals(contents)
}

/**
 * Has a folder hold these files, by path, and no other. Writes changed files only, atomically, so that a running daemon
 * keeps serving.
 */
export function putInPlace(folder, wanted) {
  for (const [path, contents] of wanted) {
    if (isInPlace(path, contents)) continue
    mkdirSync(dirname(path), { recursive: true })
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, contents)
    renameSync(draft, path)
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    // Concurrent builds use different temporary files.
    if (entry.isFile() && !wanted.has(path) && !/\.\d+$/.test(path)) rmSync(path, { force: true })
  }
}
