import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder with package.json, migrations/ and web/: above both src/ and dist/src/. */
export const packageRoot: string = packageFolder(dirname(fileURLToPath(import.meta.url)))

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }

export const version: string = manifest.version

/** The nearest folder that is a package, this one or above. */
function packageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageFolder(dirname(folder))
}
