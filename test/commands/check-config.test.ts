import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { checkConfig } from '../../src/commands/check-config.ts'
import { schema } from '../../src/commands/schema.ts'
import { minimal, temporaryFolder } from '../config/support.ts'

let folder: string | null = null
afterEach(() => {
  if (folder !== null) rmSync(folder, { recursive: true })
  folder = null
})

async function check(value: unknown) {
  folder = temporaryFolder({ 'heartline.yaml': stringify(value) })
  const file = join(folder, 'heartline.yaml')
  const out: string[] = []
  const err: string[] = []
  const status = await checkConfig({ file }, { out: (line) => out.push(line), err: (line) => err.push(line), env: {} })
  const named = (lines: string[]) => lines.map((line) => line.replace(file, 'heartline.yaml'))
  return { status, out: named(out), err: named(err) }
}

test('a valid file is exit status 0 and one line on stdout', async () => {
  expect(await check(minimal())).toEqual({ status: 0, out: ['heartline.yaml: valid, 1 network, 1 endpoint'], err: [] })
})

test('a bad file is exit status 78 and every problem on stderr', async () => {
  expect(await check(minimal({ own: { url: 'x' }, network: { chain_id: -1 } }))).toEqual({
    status: 78,
    out: [],
    err: [
      'heartline.yaml: networks[0].chain_id: expected a whole number from 1 to 9007199254740991',
      'heartline.yaml: networks[0].endpoints[0].url: expected an http(s) URL without fragment',
    ],
  })
})

test('what is doubtful is a warning on stderr, and still exit status 0', async () => {
  const { status, err } = await check(minimal({ own: { tls: { insecure: true } } }))

  expect(status).toBe(0)
  expect(err).toEqual([
    expect.stringMatching(/^warning: heartline\.yaml: networks\[0\]\.endpoints\[0\]\.tls\.insecure: /),
  ])
})

test('schema prints a JSON Schema', async () => {
  const out: string[] = []

  const status = schema({ out: (line) => out.push(line) })

  expect(status).toBe(0)
  expect(JSON.parse(out.join('\n'))).toMatchObject({ type: 'object', required: ['networks'] })
})
