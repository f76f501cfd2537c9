import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { generatedFiles } from '../../grafana/files.ts'
import { checkout } from '../support/project.ts'

const alerts = alertGroups().flatMap((group) => group.alerts)

test.each(Object.keys(generatedFiles()))('%s is up to date; `npm run grafana` writes it', (path) => {
  const kept = readFileSync(join(checkout, path), 'utf8')

  expect(kept).toBe(generatedFiles()[path])
})

test.each(alerts)('$name has a runbook with meaning, checks and actions', ({ name }) => {
  const file = join(checkout, 'docs/runbooks', `${name}.md`)

  expect(existsSync(file)).toBe(true)
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual([name, 'What it means', 'How to check', 'What to do'])
})

test('the list of runbooks is complete', () => {
  const list = readFileSync(join(checkout, 'docs/runbooks/README.md'), 'utf8')

  const listed = [...list.matchAll(/\]\((\w+)\.md\)/g)].map(([, name]) => name)

  expect(new Set(listed)).toEqual(new Set(alerts.map(({ name }) => name)))
})

test('another runbook address is written into the rules', () => {
  const files = generatedFiles('https://wiki.example.org/heartline/')

  expect(files['grafana/prometheus/heartline.rules.yml']).toContain(
    'runbook_url: https://wiki.example.org/heartline/HeartlineEndpointDown',
  )
})
