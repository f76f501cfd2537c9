import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json, migrations/ and web/, and contains both src/ and dist/src/. */
export const packageRoot: string = packageFolder(dirname(fileURLToPath(import.meta.url)))

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }

export const version: string = manifest.version

function packageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : packageFolder(dirname(folder))
}
