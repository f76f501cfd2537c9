import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a command, or null. */
export function which(command, path = process.env.PATH ?? '') {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, command)
    try {
      accessSync(file, constants.X_OK)
      if (statSync(file).isFile()) return file
    } catch {
      // Not in this folder.
    }
  }
  return null
}
