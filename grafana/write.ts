import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { generatedFiles } from './files.ts'

/** Writes the generated files: `npm run grafana`, or `npm run grafana -- --page https://status.example.org`. */
const { values } = parseArgs({ options: { page: { type: 'string' }, runbooks: { type: 'string' } } })
for (const [path, text] of Object.entries(generatedFiles(values))) {
  const file = new URL(`../${path}`, import.meta.url)
  mkdirSync(dirname(file.pathname), { recursive: true })
  writeFileSync(file, text)
}
