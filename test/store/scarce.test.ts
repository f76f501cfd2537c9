import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from './setting.ts'

const CHILD = fileURLToPath(new URL('./children/scarce.ts', import.meta.url))

test('a store without a single free file descriptor ends no process, logs each failure once, and loses no poll', () => {
  const command = `ulimit -n 200; exec '${process.execPath}' --import tsx '${CHILD}' '${join(temporaryDirectory(), 'store.db')}'`

  const output = execFileSync('bash', ['-c', command], { encoding: 'utf8', timeout: 100_000 })

  const { scarce, polls, found, intact, lines } = JSON.parse(output) as Record<string, unknown>
  expect(scarce).toMatchObject({
    troubleAtStart: 'other',
    polls: 'Unreadable',
    history: 'Unreadable',
    incidents: 0,
    integrity: false,
    retention: true,
    trouble: 'other',
  })
  expect((scarce as { counted: number }).counted).toBeGreaterThan(2)
  expect({ found, intact }).toEqual({ found: polls, intact: true })
  expect((lines as string[]).map((line) => line.replace(/ \{.*$/, ''))).toEqual([
    'the store cannot be written',
    'the store is written again',
    'a reader thread of the store died',
    'single polls cannot be read',
    'the history cannot be read',
    'the incidents cannot be read',
    'the writer thread of the store died and is started again',
    'the store cannot be written',
    'the store is written again',
  ])
}, 120_000)
