import { expect, test } from 'vitest'
import { OwnHealthView } from '../../src/http/wire/own-health.ts'
import { createMinuteStats } from '../../src/metrics/daemon-history.ts'
import { Secret } from '../../src/secret.ts'
import { createJournal } from '../../src/state/observer-journal.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { setUp } from './setting.ts'

test('/api/v1/observer shows the health of Heartline and its events, newest first', async () => {
  const clock = createFakeClock()
  const journal = createJournal({ clock })
  const recorder = createMinuteStats({
    clock,
    queueRows: () => 7,
    residentBytes: () => 90_000_000,
    requests: () => ({ requests: 0, failed: 0 }),
  })
  journal.started(clock.now() - 3_600_000)
  journal.held(2500)
  recorder.loopBlocked(2500)
  recorder.sample()
  const reasons = ['this process stood still for 2.5 s']
  const observer = () => ({ impaired: true, judging: false, reasons })

  const answer = await setUp({ journal, recorder, observer }).server.inject('/api/v1/observer')

  const view = OwnHealthView.parse(answer.json())
  expect(view).toMatchObject({
    impaired: true,
    judging: false,
    reasons,
    version: '1.2.3',
    node_version: process.version,
    networks: 2,
    endpoints: 3,
    store: { trouble: null, queue_rows: 0 },
    course: { step_seconds: 60, loop_lag_seconds: [2.5], queue_rows: [7], resident_bytes: [90_000_000] },
  })
  expect(view.events.map(({ kind, text }) => [kind, text])).toEqual([
    ['start', 'Heartline started'],
    ['hold', 'this process stood still for 2.5 s'],
    ['absence', 'Heartline did not run for about 60 min'],
  ])
})

test('it needs the token, and parameters are rejected', async () => {
  const { server } = setUp({ options: { token: new Secret('a-token-of-some-length') } })

  expect((await server.inject('/api/v1/observer')).statusCode).toBe(401)
  const headers = { authorization: 'Bearer a-token-of-some-length' }
  expect((await server.inject({ url: '/api/v1/observer', headers })).statusCode).toBe(200)
  expect((await server.inject({ url: '/api/v1/observer?x=1', headers })).statusCode).toBe(400)
})
