import { describe, expect, test } from 'vitest'
import { readIncident } from '../../src/state/incident-log.ts'
import { change, condition, incident } from '../support/incident.ts'

const WHOLE = incident({
  cause: 'halted',
  endpoint: null,
  affected: ['own-1', 'own-2'],
  conditions: [condition({ code: 'halted', state: 'degraded', until: 1_767_225_700_000 })],
  changes: [change({ codes: ['halted'] }), change({ codes: [], samples: [] })],
  absorbedBy: 'incident-0',
})

test('an incident survives JSON unchanged', () => {
  expect(readIncident(JSON.parse(JSON.stringify(WHOLE)))).toEqual(WHOLE)
})

test('properties of a later version are left out', () => {
  expect(readIncident({ ...WHOLE, severity: 9 })).toEqual(WHOLE)
})

describe('no incident is read from', () => {
  test.each([
    ['nothing', null],
    ['text', 'incident'],
    ['an empty object', {}],
    ['a list', [WHOLE]],
    ['an unknown state', { ...WHOLE, state: 'unknown' }],
    ['an unknown cause', { ...WHOLE, cause: 'reorg' }],
    ['an unknown code', { ...WHOLE, conditions: [{ ...condition(), code: 'bored' }] }],
    ['an unknown code of a change', { ...WHOLE, changes: [{ ...change(), codes: ['bored'] }] }],
    ['a time that is none', { ...WHOLE, openedAt: '2026-01-01' }],
    ['a time that no calendar has', { ...WHOLE, closedAt: 1e300 }],
    ['a height that is no count', { ...WHOLE, changes: [{ ...change(), samples: [{ endpoint: 'a', height: -1 }] }] }],
    ['a missing id', { ...WHOLE, id: undefined }],
    ['an id without end', { ...WHOLE, id: 'x'.repeat(300) }],
  ])('%s', (_what, value) => {
    expect(readIncident(value)).toBeNull()
  })
})
