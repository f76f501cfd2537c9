import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Incident } from '../../src/core/incident/incident.ts'
import { type PostMortem, renderPostMortem } from '../../src/http/incidents/post-mortem.ts'
import type { EndpointFigures } from '../../src/http/incidents/post-mortem-figures.ts'
import type { HistoryBucket } from '../../src/store/store.ts'
import { change, condition, incident, START } from '../support/incident.ts'
import { historyBucket } from '../support/world.ts'

const MINUTE = 60_000

test('the places of a cluster that saw it are named', () => {
  const text = write({ incident: incident({ vantages: ['fra1', 'nyc1'] }) })

  expect(text).toContain('\nSeen from  fra1, nyc1\n')
  expect(write({ incident: incident() })).not.toContain('Seen from')
})

test('a closed incident has all its facts: what, where, when, how long, why, and what was measured', () => {
  const own = incident({
    closedAt: START + 12.5 * MINUTE,
    conditions: [
      condition({ code: 'lagging', state: 'degraded', message: '12 blocks behind', until: START + 5 * MINUTE }),
      condition({ since: START + 2 * MINUTE, until: START + 12.5 * MINUTE }),
    ],
    changes: [
      change({ state: 'degraded', codes: ['lagging'], samples: [sample({ latencyMs: 14 })] }),
      change({ at: START + 2 * MINUTE, samples: [sample()] }),
      change({ at: START + 12.5 * MINUTE, state: 'up', codes: [], samples: [sample({ lagBlocks: 0, latencyMs: 8 })] }),
    ],
  })

  const text = write({
    incident: own,
    title: 'Own node 1 of Avalanche',
    now: START + 30 * MINUTE,
    figures: [
      figures({
        before: bucket({ upMs: 10 * MINUTE }),
        during: bucket({ downMs: 10.5 * MINUTE, degradedMs: 2 * MINUTE, lagBlocksMax: 250, height: 24_000_300 }),
        after: bucket({ upMs: 12.5 * MINUTE, height: 24_000_990, latencyMaxMs: 15_250 }),
        timeline: [bucket({ upMs: MINUTE }), bucket({ start: START + MINUTE, downMs: 30_000, degradedMs: 30_000 })],
      }),
    ],
  })

  expect(text).toBe(`avalanche/own-1 down for 10 min 30 s of 12 min 30 s
===================================================
What       The endpoint was down.
Where      Own node 1 of Avalanche (avalanche/own-1)
Why        unreachable: connection refused
Began      2026-01-01 00:00:00, the first bad poll
Confirmed  2026-01-01 00:00:10, 10 s later
Ended      2026-01-01 00:12:30, the first good poll
Lasted     12 min 30 s
Written    2026-01-01 00:30:00; all times are UTC
Incident   incident-1

CONDITIONS
  lagging (degraded): 12 blocks behind
      from 2026-01-01 00:00:00 to 2026-01-01 00:05:00, 5 min
  unreachable (down): connection refused
      from 2026-01-01 00:02:00 to 2026-01-01 00:12:30, 10 min 30 s

WHAT HAPPENED
  2026-01-01 00:00:00  degraded: lagging
      own-1: height 24,000,000, 12 blocks behind, answered in 14 ms
  2026-01-01 00:02:00  down: unreachable
      own-1: no answer, last height 24,000,000
  2026-01-01 00:12:30  up
      own-1: height 24,000,000, at the head, answered in 8.0 ms

BEFORE, DURING, AFTER
  own-1
            last height  behind    p50    p95  slowest
    before   24,000,100       0  12 ms  40 ms  1500 ms
    during   24,000,300     250  12 ms  40 ms  1500 ms
    after    24,000,990       0  12 ms  40 ms   15.3 s
    time: before up 10 min
    time: during down 10 min 30 s, degraded 2 min
    time: after up 12 min 30 s

TIMELINE
  own-1, in steps of 1 min
  from                height  behind    p50  slowest  state
  01-01 00:00:00  24,000,100       0  12 ms  1500 ms  up
  01-01 00:01:00  24,000,100       0  12 ms  1500 ms  down, degraded

NOTES
  - Each row shows the last height, the largest lag in blocks, and the 50th
    percentile, 95th percentile and maximum of latency in that period. On a
    sharded chain, height and lag are those of the worst shard.
`)
})

test.each([
  ['recovered', { changes: [change(), change({ state: 'up', codes: [] })] }, 'the first good poll'],
  ['was removed from the configuration', {}, 'no longer monitored'],
  ['became part of an outage', { absorbedBy: 'incident-2' }, 'part of a larger incident'],
  [
    'ended for a whole network',
    { endpoint: null, cause: 'halted', changes: [change({ state: 'up', codes: [] })] },
    'resolved',
  ],
  ['of a network was removed from the configuration', { endpoint: null, cause: 'halted' }, 'no longer monitored'],
] as const)('an incident that %s says how it ended', (_how, over, expected) => {
  const text = write({ incident: incident({ closedAt: START + MINUTE, ...over }) })

  expect(text).toContain(`\nEnded      2026-01-01 00:01:00, ${expected}\n`)
})

test('all of its times, and only those, are in the zone that was asked for', () => {
  const of = {
    incident: incident({
      openedAt: START,
      confirmedAt: START + 10_000,
      closedAt: START + 5 * MINUTE,
      conditions: [condition({ message: 'since 2026-01-01 00:00:00', until: START + 5 * MINUTE })],
      changes: [change({ samples: [] })],
    }),
    notes: [
      { id: 'n', incident: 'incident-1', at: START + MINUTE, isPublic: false, text: 'broke at 2026-01-01 00:00:00' },
    ],
    figures: [
      figures({
        during: bucket({ unknownMs: MINUTE }),
        timeline: [
          bucket({ upMs: MINUTE }),
          bucket({ start: START + MINUTE, polls: 0, unknownMs: MINUTE }),
          bucket({ start: START + 2 * MINUTE, upMs: MINUTE }),
        ],
      }),
    ],
    maintenance: [{ network: 'avalanche', endpoints: null, name: 'all of it', from: START, until: START + MINUTE }],
  }

  const utc = write(of)
  const local = write({ ...of, timeZone: 'Europe/Berlin' })

  expect(local).toContain('Began      2026-01-01 01:00:00')
  expect(local).toContain('all times are Europe/Berlin')
  expect(local).toContain('since 2026-01-01 00:00:00')
  expect(local).toContain('broke at 2026-01-01 00:00:00')
  const shifted = local.replaceAll(/(?<!since 2026-01-01 |at 2026-01-01 )\b01:(?=\d\d:\d\d)/g, '00:')
  expect(shifted.replace('Europe/Berlin', 'UTC')).toBe(utc)
  expect(write({ ...of, timeZone: 'Mars/Olympus' })).toBe(utc)
})

test('a long unknown time takes one line of the timeline', () => {
  const nothing = { polls: 0, height: null, lagBlocksMax: null, latencyP50Ms: null, latencyMaxMs: null }
  const timeline = [0, 1, 2, 3, 4, 5].map((at) => {
    const start = START + at * MINUTE
    return at === 3 ? bucket({ start, downMs: MINUTE }) : bucket({ ...nothing, start, unknownMs: MINUTE })
  })

  const text = write({ incident: incident(), figures: [figures({ during: bucket({ downMs: MINUTE }), timeline })] })

  expect(text).toContain(`
  01-01 00:00:00           -       -      -        -  unknown until 00:03:00
  01-01 00:03:00  24,000,100       0  12 ms  1500 ms  down
  01-01 00:04:00           -       -      -        -  unknown until 00:06:00
`)
})

test('an unknown time of days names the day on which it ended, and none ends later than now', () => {
  const nothing = { polls: 0, height: null, lagBlocksMax: null, latencyP50Ms: null, latencyMaxMs: null }
  const hour = 60 * MINUTE
  const timeline = [0, 1, 2, 3, 4, 5, 6].map((at) => {
    const start = START + at * 12 * hour
    const of = { ...nothing, start, unknownMs: at === 6 ? 7 * MINUTE : 12 * hour }
    return at === 5 ? bucket({ start, downMs: 12 * hour }) : bucket(of)
  })
  const during = bucket({ downMs: MINUTE })

  const text = write({ incident: incident(), figures: [figures({ during, timeline, stepMs: 12 * hour })] })

  expect(text).toContain(`
  01-01 00:00:00           -       -      -        -  unknown to 01-03 12:00
  01-03 12:00:00  24,000,100       0  12 ms  1500 ms  down
  01-04 00:00:00           -       -      -        -  unknown until 00:07:00
`)
})

describe('the text says', () => {
  test('that an incident is still open', () => {
    const text = write({ incident: incident(), now: START + 90_000 })

    expect(text).toContain('avalanche/own-1 down for 1 min 30 s so far\n')
    expect(text).toContain('What       The endpoint is down.\n')
    expect(text).toContain('Ended      not yet\n')
    expect(text).toContain('      from 2026-01-01 00:00:00 until now, 1 min 30 s\n')
    expect(said(text)).toContain('The incident is still open; this is what is known so far.')
  })

  test('that an incident is open though the endpoint is better', () => {
    const over = condition({ until: START + 60_000 })
    const lagging = condition({ code: 'lagging', state: 'degraded', message: '12 blocks behind', since: START })
    const text = write({ incident: incident({ conditions: [over, lagging] }), now: START + 90_000 })

    expect(text).toContain('What       The endpoint was down. It has not recovered yet.\n')
  })

  test('that it was flapping', () => {
    const text = said(write({ incident: incident({ flapping: true, flaps: 7, closedAt: START + MINUTE }) }))

    expect(text).toContain('was down, and flapping.')
    expect(text).toContain(
      'The endpoint was flapping: it recovered and failed again 7 times in a short time, including earlier related incidents.',
    )
  })

  test('that it is part of another', () => {
    expect(said(write({ incident: incident({ absorbedBy: 'halt-9' }) }))).toContain(
      'This is part of the network-wide incident halt-9; lists show only that one.',
    )
  })

  test('how long the state was unknown, and when', () => {
    const own = incident({ closedAt: START + 10 * MINUTE })
    const timeline = [
      bucket({ start: START - MINUTE, unknownMs: MINUTE }),
      bucket({ start: START, downMs: MINUTE }),
      bucket({ start: START + MINUTE, unknownMs: 20_000, downMs: 40_000 }),
      bucket({ start: START + 2 * MINUTE, unknownMs: MINUTE }),
      bucket({ start: START + 3 * MINUTE, downMs: MINUTE }),
    ]
    const during = bucket({ start: START, downMs: 8 * MINUTE + 40_000, unknownMs: MINUTE + 20_000 })

    const text = write({ incident: own, figures: [figures({ during, timeline })] })

    expect(said(text)).toContain(
      'The state of own-1 is unknown for 1 min 20 s of it (between 2026-01-01 00:01:00 and 2026-01-01 00:03:00): Heartline was not running or could not judge.',
    )
  })

  test('how long it lasted and took to be confirmed after planned maintenance', () => {
    const times = { plannedUntil: START + 10 * MINUTE, confirmedAt: START + 10 * MINUTE + 20_000 }
    const late = incident({
      ...times,
      closedAt: START + 15 * MINUTE,
      conditions: [condition({ until: START + 15 * MINUTE })],
    })
    const text = write({ incident: late })

    expect(text).toMatch(/^avalanche\/own-1 down for 5 min\n/)
    expect(text).toContain('Confirmed  2026-01-01 00:10:20, 20 s later')
    expect(text).toContain('Lasted     5 min\n')
  })

  test('how much of it was planned maintenance, and which', () => {
    const own = incident({ closedAt: START + 10 * MINUTE })
    const during = bucket({ start: START, downMs: 4 * MINUTE, maintenanceMs: 6 * MINUTE })
    const period = { network: 'avalanche', from: START + 4 * MINUTE, until: START + 20 * MINUTE }

    const text = write({
      incident: own,
      figures: [figures({ during })],
      maintenance: [
        { ...period, name: 'upgrade', endpoints: ['own-1'] },
        { ...period, name: 'all of it', endpoints: null },
      ],
    })

    expect(said(text)).toContain('6 min of it were planned maintenance of own-1')
    expect(said(text)).toContain(
      'Maintenance "upgrade" of own-1 was planned from 2026-01-01 00:04:00 to 2026-01-01 00:20:00.',
    )
    expect(said(text)).toContain('Maintenance "all of it" of the whole network')
  })

  test.each([
    ['no figures at all', []],
    ['figures without a single poll', [figures({ during: bucket({ polls: 0, unknownMs: MINUTE }) })]],
  ])('that there is no history, given %s, and reports no gap', (_what, read) => {
    const text = write({ incident: incident(), figures: read })

    expect(said(text)).toContain('There is no history of that time')
    expect(text).not.toMatch(/BEFORE|TIMELINE|is unknown/)
  })
})

test('a network-wide incident has the figures of every affected endpoint', () => {
  const halt = incident({
    endpoint: null,
    cause: 'halted',
    state: 'degraded',
    affected: ['own-1', 'own-2', 'own-3'],
    conditions: [condition({ code: 'halted', state: 'degraded', message: 'no new block for 3 min' })],
    changes: [change({ codes: ['halted'], samples: Array.from({ length: 25 }, () => sample()) })],
  })

  const text = write({
    incident: halt,
    figures: [
      figures({ during: bucket({ upMs: MINUTE }) }),
      figures({ endpoint: 'own-2', during: bucket({ upMs: MINUTE }) }),
    ],
  })

  expect(text).toMatch(/^avalanche halted for /)
  expect(said(text)).toContain('The chain is halted: no endpoint reported a new block. 3 endpoints were affected.')
  expect(text).toMatch(/^ {2}own-1$/m)
  expect(text).toMatch(/^ {2}own-2$/m)
  expect(text).toContain('      and 5 more\n')
  expect(said(text)).toContain('Affected endpoints: own-1, own-2, own-3.')
  expect(said(text)).toContain('Figures of 1 more affected endpoints are omitted.')
})

test('the public sees where, when and why in general, and that signing in shows more', () => {
  const text = write({ audience: 'public', incident: incident({ changes: [change(), change({ at: START + 1 })] }) })

  expect(text).toContain('unreachable (down): no answer\n')
  expect(text).not.toMatch(/refused|1,000|12 blocks|BEFORE|TIMELINE/)
  expect(said(text)).toContain('Sign in to see heights, lag, latency and error messages of the nodes.')
})

test('a message of a node can neither break a line nor reverse the text', () => {
  const hostile = condition({ message: 'a\r\nFrom: b\u001b[31m\u202egnp\u0000.\u0085x' })

  const text = write({ incident: incident({ conditions: [hostile] }) })

  expect(text).toContain('unreachable (down): a From: b [31m gnp . x\n')
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}/u)
})

test('no line is wider than 78 columns, whatever it holds, with numbers of realistic size', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 300 })
  const name = fc.stringMatching(/^[a-z0-9-]{1,64}$/)
  const count = fc.option(fc.integer({ min: 0, max: 5_000_000_000 }))
  fc.assert(
    fc.property(
      name,
      name,
      text,
      count,
      fc.option(fc.nat(1e6)),
      fc.nat(1e10),
      (network, endpoint, message, height, lag, lasted) => {
        const one = incident({
          network,
          endpoint,
          closedAt: START + lasted,
          absorbedBy: endpoint,
          conditions: [condition({ message })],
          changes: [change({ samples: [sample({ endpoint, height, lagBlocks: lag, latencyMs: lasted })] })],
        })
        const time = { downMs: lasted, degradedMs: lasted, upMs: lasted, maintenanceMs: lasted, unknownMs: lasted }
        const long = bucket({ ...time, height, lagBlocksMax: lag, latencyMaxMs: 299_999 })
        const all = figures({ endpoint, before: long, during: long, after: long, timeline: [long] })

        const written = write({ incident: one, title: `${message} of ${message}`, figures: [all] })

        for (const line of written.split('\n')) expect(Array.from(line).length, line).toBeLessThanOrEqual(78)
      },
    ),
  )
})

function write(over: Partial<PostMortem> & { incident: Incident }): string {
  return renderPostMortem({
    title: null,
    now: START + 30 * MINUTE,
    audience: 'private',
    figures: [],
    maintenance: [],
    notes: [],
    timeZone: 'UTC',
    ...over,
  })
}

/** On one line, to find sentences. */
function said(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function sample(over: Partial<Incident['changes'][number]['samples'][number]> = {}) {
  return { endpoint: 'own-1', shard: null, height: 24_000_000, lagBlocks: 12, latencyMs: null, ...over }
}

function figures(over: Partial<EndpointFigures> = {}): EndpointFigures {
  const none = { before: null, during: null, after: null, timeline: [] }
  return { endpoint: 'own-1', ...none, stepMs: MINUTE, isSpread: false, ...over }
}

function bucket(over: Partial<HistoryBucket> = {}): HistoryBucket {
  const latencies = { latencyP50Ms: 12, latencyP95Ms: 40, latencyMaxMs: 1500 }
  return historyBucket({ start: START, polls: 10, ...latencies, height: 24_000_100, ...over })
}
