import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { newCaller } from '../../src/commands/caller.ts'
import { loadConfig } from '../../src/config/load.ts'
import { removeFolder, temporaryFolder } from '../support/daemon.ts'

function run(name: string) {
  let out = ''
  let err = ''
  const status = newCaller({ name }, { out: (text) => void (out += text), err: (text) => void (err += text) })
  return { status, out, err }
}

test('what `caller new` prints goes into a configuration as it stands', () => {
  const { status, out } = run('wallet')
  const folder = temporaryFolder()
  const file = join(folder, 'heartline.yaml')
  const networks =
    'networks:\n  - { name: eth, family: ethereum, endpoints: [{ name: a, url: "http://127.0.0.1:1" }] }\n'
  writeFileSync(file, `${networks}${out}\n`)

  const loaded = loadConfig(file, {})

  removeFolder(folder)
  expect(status).toBe(0)
  expect(loaded.ok).toBe(true)
  if (!loaded.ok) return
  expect(loaded.config.gateway.callers[0]?.name).toBe('wallet')
  expect(loaded.config.gateway.callers[0]?.endpointId.reveal()).toMatch(/^[A-Za-z0-9_-]{43}$/)
})

test('no two ids are the same, and names that YAML would take for something else stay names', () => {
  const ids = new Set<string>()
  for (const name of ['1e5', 'true', 'null', '0x10', 'a.b-c_d', '-', '...']) {
    const { callers } = (parse(run(name).out) as { gateway: { callers: [{ name: unknown; endpoint_id: string }] } })
      .gateway
    expect(callers[0].name).toBe(name)
    ids.add(callers[0].endpoint_id)
  }
  expect(ids.size).toBe(7)
})

test('a name that the configuration would refuse is refused, and no id is made', () => {
  for (const name of ['', 'two words', 'a"b', 'x'.repeat(65), 'ä', 'a\nb']) {
    const { status, out, err } = run(name)
    expect([status, out]).toEqual([64, ''])
    expect(err).toContain('expected a name')
  }
})
