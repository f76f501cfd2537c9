import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigFile } from './schema.ts'

/** The configuration file's JSON Schema for editors; it describes the file before interpolation. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(ConfigFile, {
    io: 'input',
    // A scalar accepts `unknown` and keeps its JSON Schema in its metadata.
    override: ({ jsonSchema }) => {
      const own = jsonSchema as Node
      if (own.jsonSchema !== undefined) Object.assign(own, own.jsonSchema)
      delete own.jsonSchema
      delete own.kind
      delete own.defaultText
    },
  })
  return { ...schema, title: 'Heartline configuration' }
}

interface Node {
  jsonSchema?: object
  kind?: string
  defaultText?: string
}

interface Described extends Node {
  readonly description?: string
  readonly type?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
  readonly items?: Described
  readonly additionalProperties?: Described | boolean
}

/** The table of every key for `docs/configuration.md`, in the order of the schema. */
export function configTable(): string {
  const root = z.toJSONSchema(ConfigFile, { io: 'input' }) as Described
  const rows = rowsOf(root, '')
  return ['| key | type | default | description |', '|---|---|---|---|', ...rows].join('\n')
}

function rowsOf(node: Described, prefix: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const path = `${prefix}${key}`
    const required = node.required?.includes(key) ?? false
    const row = `| \`${path}\` | ${cell(typeOf(child))} | ${cell(defaultOf(child, required))} | ${cell(child.description ?? '')} |`
    const nested = child.type === 'array' ? child.items : child
    return [row, ...rowsOf(nested ?? {}, child.type === 'array' ? `${path}[].` : `${path}.`)]
  })
}

function typeOf(node: Described): string {
  if (node.type === 'array')
    return node.items?.properties ? 'list of mappings' : `list of ${node.items?.kind ?? 'texts'}`
  if (node.properties !== undefined) return 'mapping'
  if (typeof node.additionalProperties === 'object') return `mapping of ${node.additionalProperties.kind ?? 'texts'}`
  return node.kind ?? node.type ?? ''
}

function defaultOf(node: Described, required: boolean): string {
  if (node.defaultText !== undefined) return node.defaultText
  if (node.properties !== undefined && node.default !== undefined) return ''
  if (node.default !== undefined) return `\`${JSON.stringify(node.default).replaceAll('"', '')}\``
  return required ? '**required**' : 'none'
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

const BEGIN = '<!-- The table is generated from src/config/schema.ts: npm run docs -->'
const END = '<!-- End of the generated table -->'

/** Replaces the table in the page. */
export function withConfigTable(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error('docs/configuration.md lacks the markers of its table')
  return `${page.slice(0, begin + BEGIN.length)}\n\n${configTable()}\n\n${page.slice(end)}`
}

// Run by `npm run docs`.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = new URL('../../docs/configuration.md', import.meta.url)
  writeFileSync(page, withConfigTable(readFileSync(page, 'utf8')))
}
