import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { DASHBOARDS } from '../../grafana/uids.ts'
import { templateText } from '../../src/http/template-text.ts'
import type { OwnHealthView } from '../../src/http/wire/own-health.ts'
import type { ObserverView } from '../../src/http/wire/status.ts'
import { view } from '../../web/views/observer/observer.ts'
import { DEFAULT_SETTINGS, type Model, type Sources } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aStatus } from './views.ts'

const NOW = Date.parse('2026-01-01T00:10:00.000Z')
const SPREAD = { count: 10, p50_seconds: 0.0025, p99_seconds: 0.09 }

const MEMBER = {
  version: '0.1.0',
  url: null,
  seen_at: '2026-01-01T00:09:58.000Z',
  self: false,
  live: true,
  differs: false,
}
const LEASE = { network: 'one', token: 7, expires_at: '2026-01-01T00:09:58.000Z' }

function ourselves(over: Partial<OwnHealthView> = {}): OwnHealthView {
  return {
    generated_at: '2026-01-01T00:10:00.000Z',
    impaired: false,
    judging: true,
    reasons: [],
    version: '0.1.0',
    node_version: 'v22.0.0',
    started_at: '2026-01-01T00:00:00.000Z',
    uptime_seconds: 600,
    resident_bytes: 94_371_840,
    networks: 2,
    endpoints: 9,
    configuration: { ok: true, loaded_at: '2026-01-01T00:05:00.000Z' },
    polls: {
      last_round_at: '2026-01-01T00:09:59.000Z',
      lag: SPREAD,
      skips: { overlap: 0, concurrency: 0, late: 3, rate_limited: 0 },
    },
    clock_jumps: { forward: 0, backward: 1 },
    store: {
      trouble: 'full',
      integrity_ok: true,
      queue_rows: 12,
      rows_written: 1234,
      rows_dropped: 5,
      write_failures: [{ reason: 'full', count: 2 }],
      commit: SPREAD,
      thread_restarts: 1,
      database_bytes: 1_288_490_189,
      filesystem_free_bytes: 2048,
    },
    course: {
      from: '2026-01-01T00:08:00.000Z',
      step_seconds: 60,
      loop_lag_seconds: [0.02, null, 2.5],
      poll_lag_seconds: [0.001, null, 2.4],
      skips: [0, null, 3],
      commit_seconds: [0.002, null, 0.1],
      queue_rows: [1, null, 12],
      resident_bytes: [1024, null, 2048],
    },
    cluster: null,
    events: [
      { kind: 'trouble', from: '2026-01-01T00:09:00.000Z', until: null, text: 'the history cannot be written (full)' },
      {
        kind: 'hold',
        from: '2026-01-01T00:08:00.000Z',
        until: '2026-01-01T00:08:02.500Z',
        text: 'this process stood still for 2.5 s',
      },
    ],
    ...over,
  }
}

function draw(data: OwnHealthView | null, observer?: ObserverView): HTMLElement {
  const model: Model = {
    route: { view: 'observer', params: {}, query: {} },
    status: aStatus([], observer === undefined ? {} : { observer }),
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    access: 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    data,
  }
  const { document } = new Window()
  document.body.innerHTML = templateText(view.draw(model))
  return document.body as unknown as HTMLElement
}

describe('the observer page', () => {
  test('says whether Heartline is impaired, and why', () => {
    const well = draw(ourselves())
    const ill = draw(ourselves(), { impaired: true, judging: false, reasons: ['this process stood still for 2.5 s'] })

    expect(well.querySelector('.subject')?.textContent).toContain('Heartline is healthy')
    expect(ill.querySelector('.subject')?.textContent).toContain('health states are not updated')
    expect(textsOf(ill, '.reasons-now li')).toEqual(['this process stood still for 2.5 s'])
  })

  test('says to the public too that health states are valid while the disk is full', () => {
    const full = draw(null, { impaired: true, judging: true, reasons: [] })

    expect(full.querySelector('.subject')?.textContent).toContain('health states are still valid')
  })

  test('has figures of the process, polls and history, with problems highlighted', () => {
    const of = draw(ourselves())

    expect(textsOf(of, '.figures > div')).toEqual([
      'Uptime 10 min',
      'Version 0.1.0 Node.js v22.0.0',
      'Monitored 9 endpoints in 2 networks',
      'Configuration loaded 5 min ago',
      'Memory 90.0 MiB',
      'Last round 1 s ago',
      'Start delay p50 2.5 ms p99 90 ms',
      'Skipped 3',
      'Clock changes 0 forward, 1 back',
      'Problem full',
      'Rows written 1,234 12 queued',
      'Rows dropped 5',
      'Commit p50 2.5 ms p99 90 ms',
      'Size 1.2 GiB 2.0 KiB free',
    ])
    expect(textsOf(of, '.figures .down dt')).toEqual(['Problem', 'Rows dropped'])
    expect(textsOf(of, '.figures .degraded dt')).toEqual(['Skipped', 'Clock changes'])
    expect(textsOf(of, '.besides')).toEqual([
      'Skipped: 3 because this process was stalled.',
      'failed writes: 2 × full; 1 restarts of a worker thread.',
    ])
  })

  test('shows members, leases, keepers and the database of a cluster, with problems highlighted', () => {
    const of = draw(
      ourselves({
        // The page is older than what it shows: leases were renewed in the meantime.
        generated_at: '2026-01-01T00:09:46.000Z',
        cluster: {
          vantage: 'fra1',
          members: [
            { ...MEMBER, id: 'fra-1', vantage: 'fra1', url: 'https://fra.example.org', self: true },
            {
              ...MEMBER,
              id: 'nyc-1',
              vantage: 'nyc1',
              differs: true,
            },
            {
              ...MEMBER,
              id: 'nyc-2',
              vantage: 'nyc1',
              live: false,
              differs: true,
              seen_at: '2026-01-01T00:00:00.000Z',
            },
          ],
          leases: [
            { ...LEASE, vantage: 'fra1', member: 'fra-1' },
            { ...LEASE, vantage: 'nyc1', member: null, expires_at: '2026-01-01T00:09:00.000Z' },
          ],
          keepers: [{ ...LEASE, member: 'fra-1' }],
          store: {
            reachable: false,
            since: '2026-01-01T00:08:00.000Z',
            spool_rows: 1200,
            lag_seconds: null,
            rows_refused: 3,
          },
        },
      }),
    )

    const card = of.querySelector('[aria-labelledby=cluster]') as HTMLElement
    expect(textsOf(card, 'h2')).toEqual(['Cluster this member polls from fra1'])
    expect(textsOf(card, '.figures > div')).toEqual([
      'Database cannot be reached for 2 min',
      'Round trip –',
      'Rows in the spool 1,200',
      'Rows refused 3',
    ])
    expect(textsOf(card, 'tbody tr')).toEqual([
      'fra-1 this one fra1 0.1.0 2 s ago live',
      'nyc-1 nyc1 0.1.0 2 s ago live, other networks',
      'nyc-2 nyc1 0.1.0 10 min ago gone',
      'one polls from fra1 fra-1 12 s 7',
      'one polls from nyc1 no member expired 7',
      'one keeps incidents fra-1 12 s 7',
    ])
    expect(textsOf(card, '.bad')).toEqual(['other networks', 'gone', 'no member', 'expired'])
    expect(card.querySelector('tbody a')?.getAttribute('href')).toBe('https://fra.example.org')
    // On a phone, the label and what follows it are at both ends of a line.
    const partsOf = (cell: Element) => [...cell.childNodes].filter(({ textContent }) => textContent?.trim() !== '')
    for (const cell of card.querySelectorAll('td[data-label]')) expect(partsOf(cell)).toHaveLength(1)
  })

  test('calls no other member gone, and no lease of it expired, while only this one has lost the database', () => {
    const of = draw(
      ourselves({
        cluster: {
          vantage: 'fra1',
          members: [
            { ...MEMBER, id: 'fra-1', vantage: 'fra1', self: true },
            { ...MEMBER, id: 'nyc-1', vantage: 'nyc1', live: null, seen_at: '2026-01-01T00:08:00.000Z' },
          ],
          leases: [
            { ...LEASE, vantage: 'fra1', member: 'fra-1', expires_at: '2026-01-01T00:08:15.000Z' },
            { ...LEASE, vantage: 'nyc1', member: 'nyc-1', expires_at: '2026-01-01T00:08:15.000Z' },
          ],
          keepers: [],
          store: {
            reachable: false,
            since: '2026-01-01T00:08:01.000Z',
            spool_rows: 0,
            lag_seconds: null,
            rows_refused: 0,
          },
        },
      }),
    )

    const card = of.querySelector('[aria-labelledby=cluster]') as HTMLElement
    expect(textsOf(card, 'tbody tr')).toEqual([
      'fra-1 this one fra1 0.1.0 2 s ago live',
      'nyc-1 nyc1 0.1.0 2 min ago not known',
      'one polls from fra1 fra-1 not known 7',
      'one polls from nyc1 nyc-1 not known 7',
    ])
    expect(card.querySelector('.besides')?.textContent).toBe(
      'Members and leases as they were at 1 Jan 2026, 00:08:01 UTC, before the database was lost.',
    )
  })

  test('has no cluster for a daemon alone', () => {
    expect(draw(ourselves()).querySelector('[aria-labelledby=cluster]')).toBeNull()
  })

  test('calls it no problem of its own that nodes ask for fewer polls', () => {
    const { polls } = ourselves()
    const toneOf = (late: number) => {
      const of = draw(ourselves({ polls: { ...polls, skips: { ...polls.skips, late, rate_limited: 5 } } }))
      return [...of.querySelectorAll('.figures > div')].find(({ textContent }) => textContent?.includes('Skipped'))
        ?.className
    }

    expect([toneOf(0), toneOf(1)]).toEqual(['', 'degraded'])
  })

  test('lists events, newest first, which explain gaps', () => {
    expect(textsOf(draw(ourselves()), '.own-events li')).toEqual([
      '1 Jan 2026, 00:09:00 UTC problem the history cannot be written (full), ongoing, 60 s',
      '1 Jan 2026, 00:08:00 UTC stalled this process stood still for 2.5 s',
    ])
  })

  test('links its charts to the same time in Grafana, where one is configured', () => {
    const link = draw(ourselves({ grafana_url: 'https://grafana.example.org' })).querySelector('.grafana')
    const from = Date.parse('2026-01-01T00:08:00.000Z')

    expect(link?.getAttribute('href')).toBe(
      `https://grafana.example.org/d/${DASHBOARDS.heartline}?from=${from}&to=${NOW}`,
    )
    expect(draw(ourselves()).querySelector('.grafana')).toBeNull()
  })

  test('leaves a minute without data unknown', () => {
    const rows = textsOf(draw(ourselves()), '#own-charts-table tbody tr')

    expect(rows.slice(-3)).toEqual([
      '00:08 20 ms 1.0 ms 0 1 2.0 ms 1.0 KiB',
      '00:09 – – – – – –',
      '00:10 2.5 s 2.4 s 3 12 100 ms 2.0 KiB',
    ])
  })

  test('shows that a configuration was rejected', () => {
    const of = draw(ourselves({ configuration: { ok: false, loaded_at: null } }))

    expect(textsOf(of, '.figures .degraded')).toContain('Configuration rejected the previous one stays in use')
  })

  test('shows only its state to the public', async () => {
    const sources = { observer: async () => ({ ok: false, why: 'locked' }) } as unknown as Sources
    const answer = await view.load(sources, { view: 'observer', params: {}, query: {} }, NOW)

    expect(answer).toEqual({ ok: true, value: null })
    const of = draw(null)
    expect(of.textContent).toContain('Sign in to see figures.')
    expect(of.querySelector('.figures')).toBeNull()
  })
})
