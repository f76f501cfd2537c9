import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Addresses, linksOf } from '../../grafana/alerts/alert.ts'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { generatedFiles } from '../../grafana/files.ts'
import { RUNBOOK_OF } from '../../src/core/verdict/runbook.ts'
import { routeOf } from '../../web/views/route.ts'
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

test.each(['unreachable', 'bad-answer', 'rate-limited', 'no-evidence'] as const)(
  'the runbook of %s, which has no alert of its own, says what to do about it',
  (condition) => {
    const file = join(checkout, 'docs/runbooks', `${RUNBOOK_OF[condition]}.md`)

    expect(readFileSync(file, 'utf8').split('## What to do')[1]).toContain(`\`${condition}\``)
  },
)

test('the list of runbooks is complete', () => {
  const list = readFileSync(join(checkout, 'docs/runbooks/README.md'), 'utf8')

  const listed = [...list.matchAll(/\]\((\w+)\.md\)/g)].map(([, name]) => name)

  expect(new Set(listed)).toEqual(new Set(alerts.map(({ name }) => name)))
})

test('the address of the page is written into the rules, and another one of the runbooks', () => {
  const linksIn = (addresses: Addresses) =>
    generatedFiles(addresses)['grafana/prometheus/heartline.rules.yml']?.match(
      /(?<=alert: HeartlineEndpointDown[^]*?)page_url: .*\n *runbook_url: .*/,
    )?.[0]
  const page = 'page_url: https://status.example.org/endpoints/{{ $labels.network }}/{{ $labels.endpoint }}'

  expect(linksIn({ page: 'https://status.example.org/' })?.split(/\n */)).toEqual([
    page,
    'runbook_url: https://status.example.org/runbooks/HeartlineEndpointDown',
  ])
  expect(
    linksIn({ page: 'https://status.example.org', runbooks: 'https://wiki.example.org/heartline/' })?.split(/\n */),
  ).toEqual([page, 'runbook_url: https://wiki.example.org/heartline/HeartlineEndpointDown'])
})

test.each(alerts)('$name leads to a view of the page', (alert) => {
  const { page_url: url } = linksOf(alert)

  expect(url).not.toMatch(/undefined/)
  expect(routeOf(new URL(url.replaceAll(/\{\{ \$labels\.(network|endpoint) \}\}/g, '$1')).pathname)).not.toBeNull()
})

test.each(alerts.filter(({ scope, summary }) => scope !== 'gateway' && summary.includes('$labels.endpoint')))(
  '$name is about an endpoint, and leads to it',
  (alert) => {
    expect(linksOf(alert).page_url).toMatch(/\/endpoints\/\{\{ \$labels\.network \}\}\/\{\{ \$labels\.endpoint \}\}$/)
  },
)

test('the alert about notifications leads to their page', () => {
  const alert = alerts.find(({ name }) => name === 'HeartlineNotificationsFailing')

  expect(linksOf(alert ?? expect.fail('it exists')).page_url).toBe('http://127.0.0.1:9780/notifications')
})
