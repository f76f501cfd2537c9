import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../support/project.ts'

const read = (path: string) => readFileSync(join(checkout, path), 'utf8')
const page = read('docs/security.md').replace(/\s+/g, ' ')

/** What docs/security.md promises, in its words, and the file and title of the test that proves it. */
const PROMISES = read('test/house/security-promises.txt')
  .trim()
  .split('\n')
  .map((line) => line.split(' :: ') as [promise: string, file: string, title: string])

test.each(PROMISES)('the page on security promises “%s”, and %s has a test', (promise, file, title) => {
  expect(page).toContain(promise)
  expect(read(join('test', file))).toContain(title)
})

test('the page uses no cookies', () => {
  const files = ['src/http', 'web'].flatMap((room) =>
    readdirSync(join(checkout, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(room, file)),
  )

  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => /set-cookie|\.cookie\b/i.test(read(file)))).toEqual([])
})
