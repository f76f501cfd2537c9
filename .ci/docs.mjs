// Writes the table of configuration keys into docs/configuration.md, from the schema.
import { readFileSync, writeFileSync } from 'node:fs'
import { withConfigTable } from '../src/config/reference.ts'

const page = new URL('../docs/configuration.md', import.meta.url)
writeFileSync(page, withConfigTable(readFileSync(page, 'utf8')))
