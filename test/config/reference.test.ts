import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configTable, withConfigTable } from '../../scripts/reference.ts'
import { configJsonSchema } from '../../src/commands/schema.ts'
import { loadConfig } from '../../src/config/load.ts'
import { valid } from './support.ts'

const ROOT = join(import.meta.dirname, '../..')
const EXAMPLE = join(ROOT, 'heartline.example.yaml')
const PAGE = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')

const ENV = {
  HEARTLINE_TOKEN: 'abcdefghijklmnop',
  PROVIDER_KEY: 'abc',
  WALLET_ENDPOINT_ID: 'abcdefghijklmnop',
  OPERATIONS_ENDPOINT_ID: 'ponmlkjihgfedcba',
  PD_KEY: '9f1pd',
  SLACK_KEY: '9f2sl',
  SMTP_PASSWORD: '9f3sm',
  HOOK_KEY: '9f4ho',
  HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  CHAT_ID: '-1001234567890',
  BOT_TOKEN: '9:9f9bo',
  NTFY_TOPIC: '9f5to',
  NTFY_TOKEN: '9f6to',
  OPSGENIE_KEY: '9f7ge',
  PING_KEY: '9f8pi',
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Paths of all keys: of a schema's, or of a value's. */
function schemaPaths(schema: Schema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const path = `${prefix}${key}`
    return [path, ...schemaPaths(child, `${path}.`), ...schemaPaths(child.items ?? {}, `${path}[].`)]
  })
}

describe('the page about the configuration', () => {
  test('has the table that the schema gives now (`npm run docs` writes it)', () => {
    expect(withConfigTable(PAGE)).toBe(PAGE)
  })

  test('the table has a row with a description for every key', () => {
    const rows = configTable()
      .split('\n')
      .slice(2)
      .map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))

    expect(rows.map(([, key]) => key)).toEqual(schemaPaths(configJsonSchema() as Schema).map((path) => `\`${path}\``))
    for (const [, , type, , description] of rows) expect([type, description]).not.toContain('')
  })

  test('its smallest useful file is valid', () => {
    const [, smallest = ''] = /```yaml\n(networks:[\s\S]*?)```/.exec(PAGE) ?? []

    expect(parse(smallest)).toMatchObject({ networks: [{ endpoints: [{}] }] })
  })
})

describe('the example', () => {
  test('is valid, without a warning', () => {
    expect(valid(loadConfig(EXAMPLE, ENV)).warnings).toEqual([])
  })

  test('shows every key', () => {
    const text = readFileSync(EXAMPLE, 'utf8')
    const last = (path: string) => path.split('.').at(-1)?.replace('[]', '') ?? ''

    const missing = schemaPaths(configJsonSchema() as Schema).filter(
      (path) => !new RegExp(`\\b${last(path)}:`).test(text),
    )

    expect(missing).toEqual([])
  })
})

describe('the JSON Schema', () => {
  test('lets editors refuse unknown keys and accept interpolation', () => {
    const schema = configJsonSchema() as {
      additionalProperties: boolean
      required: string[]
      properties: Record<string, { properties: Record<string, unknown> }>
    }

    expect(schema).toMatchObject({
      additionalProperties: false,
      required: ['networks'],
      title: 'Heartline configuration',
    })
    expect(schema.properties['gateway']?.properties['admin']).toMatchObject({
      default: false,
      anyOf: [{ type: 'boolean' }, { type: 'string', pattern: '\\$\\{[^}]+\\}' }],
    })
    expect(schema.properties['poll']?.properties['interval']).toMatchObject({ default: '15s', type: 'string' })
  })

  test('holds JSON Schema keywords alone', () => {
    expect(JSON.stringify(configJsonSchema())).not.toMatch(/"(?:kind|defaultText|jsonSchema)":"/)
  })
})
