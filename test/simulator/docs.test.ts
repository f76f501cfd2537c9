import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAULT_KINDS, readFaultRequest } from '../../src/simulator/fault.ts'

const page = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8')
const guide = readFileSync(new URL('../../docs/guides/rehearse-your-alerts.md', import.meta.url), 'utf8')

test('the page on the simulator lists every kind of fault, and no other', () => {
  const tables = page.slice(page.indexOf('## The faults'))
  const listed = tables
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([a-z0-9-]+)`/g)].map(([, kind]) => kind))

  expect(new Set(listed)).toEqual(new Set(FAULT_KINDS))
  expect(listed).toHaveLength(FAULT_KINDS.length)
})

test('every example on the page is understood', () => {
  const examples = [...page.matchAll(/faults -d '([^']+)'/g)].map(([, body]) => JSON.parse(body ?? '') as unknown)

  expect(examples.length).toBeGreaterThan(5)
  for (const example of examples) expect(readFaultRequest(example)).toMatchObject({ ok: true })
})

test('every fault that the guide to rehearsals names in passing is understood', () => {
  const named = [...guide.matchAll(/`(\{"kind":[^`]+\})`/g)].map(([, body]) => JSON.parse(body ?? '') as unknown)

  expect(named.length).toBeGreaterThan(5)
  for (const fault of named) expect(readFaultRequest(fault)).toMatchObject({ ok: true })
})
