import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { NotifySettings } from '../../src/config/resolve-notify.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { createNotifier, type NotifierDeps } from '../../src/notify/notifier.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { createScheduler } from '../../src/poll/scheduler.ts'
import { Secret } from '../../src/secret.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { Store } from '../../src/store/store.ts'
import { opened, pollOf, temporaryDirectory } from '../store/setting.ts'
import { until } from '../support/daemon.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { change, condition, incident, incidentRecord, START } from '../support/incident.ts'
import { recordingLog } from '../support/log.ts'
import { endpoint, network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'

type ChannelSettings = NotifySettings['channels'][number]

interface Sink {
  readonly url: Secret
  /** Those that it did not refuse. */
  readonly bodies: any[]
  readonly ids: string[]
  status: number
  answer: (response: ServerResponse) => void
}

/** A receiver of any request that answers with `status`, or as `answer` says. */
async function startSink(): Promise<Sink> {
  const { url } = await serveHttp((request, response, body) => {
    if (sink.status === 200) {
      sink.bodies.push(body === '' ? null : JSON.parse(body))
      sink.ids.push(String(request.headers['webhook-id']))
    }
    sink.answer(response)
  })
  const sink: Sink = {
    url: new Secret(url),
    bodies: [],
    ids: [],
    status: 200,
    answer: (response) => response.writeHead(sink.status).end(),
  }
  return sink
}

const hookOf = ({ url }: Sink) => [{ target: { type: 'webhook', url, secret: null } }] as const

/** Doubles left out: on a busy machine an answer may miss its deadline, since time flies. */
const messagesOf = ({ ids, bodies }: Sink) => bodies.filter((_, at) => ids.indexOf(ids[at] ?? '') === at)

const settingsOf = (channels: readonly Partial<ChannelSettings>[]): NotifySettings => ({
  channels: channels.map((channel, at) => ({
    name: `c${at}`,
    minState: 'degraded',
    repeatMs: null,
    groupWaitMs: 0,
    ca: null,
    target: { type: 'alertmanager', urls: [] },
    ...channel,
  })),
  routes: null,
  ratePerMinute: 10_000,
  heartbeat: null,
})

async function setUp(
  channels: readonly Partial<ChannelSettings>[],
  store?: Store,
  {
    clock = createFakeClock(),
    ...over
  }: Partial<Pick<NotifierDeps, 'trouble' | 'polls' | 'tells' | 'maySend' | 'member'>> & { clock?: FakeClock } = {},
) {
  const log = recordingLog()
  const kept = store ?? (await opened({ path: ':memory:', clock })).store
  const incidents = createIncidentLog()
  const world = createWorld(clock, [])
  const reasons: string[] = []
  const notifier = createNotifier({
    clock,
    log,
    board: world.board,
    incidents,
    silences: createSilences({ clock, store: kept, log }),
    store: kept,
    trouble: () => reasons,
    polls: () => ({ firstRoundDone: true, lateMs: 0 }),
    ...over,
    random: () => 1,
  })
  notifier.configure(settingsOf(channels), null)
  await notifier.restore()
  notifier.start()
  onTestFinished(() => notifier.stop())
  function put(next: Incident): void {
    incidents.put(next)
    kept.saveIncident(incidentRecord(next), notifier.changed(next))
  }
  return { clock, log, store: kept, world, incidents, reasons, notifier, put }
}

/**
 * Waits until so many messages are known to be sent. Time passes only while one waits: on a busy machine it may have missed its
 * deadline, and is sent again.
 */
const arrived = (
  { clock, notifier }: Pick<Awaited<ReturnType<typeof setUp>>, 'clock' | 'notifier'>,
  sink: Sink,
  count: number,
) =>
  until(async () => {
    const isWaiting = notifier.status().waiting.length > 0
    if (isWaiting) await clock.advance(1000)
    return !isWaiting && messagesOf(sink).length === count
  }, `${count} messages arrive`)

const DEGRADED = {
  conditions: [condition({ code: 'lagging', state: 'degraded', until: null })],
  changes: [change(), change({ at: START + 60_000, state: 'degraded', codes: ['lagging'] })],
} as const

test('an Alertmanager is sent again what it has heard, not what its `min_state` hides', async () => {
  const sink = await startSink()
  const { clock, put } = await setUp([{ minState: 'down', target: { type: 'alertmanager', urls: [sink.url] } }])
  put(incident())
  await until(() => sink.bodies.length === 1, 'down arrives')

  put(incident(DEGRADED))
  put(incident({ id: 'small', endpoint: 'own-2', state: 'degraded', ...DEGRADED, changes: DEGRADED.changes.slice(1) }))
  await clock.advance(61_000)
  await until(() => sink.bodies.length >= 2, 'it is renewed')

  expect(
    sink.bodies[1].map(({ labels }: { labels: Record<string, string> }) => [labels['alertname'], labels['endpoint']]),
  ).toEqual([['HeartlineEndpointDown', 'own-1']])
})

test('a channel that fails says so once in the log, also when only a renewal fails, and once when it works again', async () => {
  const sink = await startSink()
  const { clock, log, put, notifier } = await setUp([{ target: { type: 'alertmanager', urls: [sink.url] } }])
  const status = () => notifier.status().channels[0]
  put(incident())
  await until(() => status()?.results.sent === 1, 'the message is sent')
  await clock.advance(1000)
  await until(() => status()?.lastSentAt === clock.now(), 'it is renewed')

  // Exactly until the next renewal: no time passes while it is on its way.
  sink.status = 500
  await clock.advance(60_000)
  await until(() => status()?.failing === true, 'the failure is known')
  sink.status = 200
  await clock.advance(60_000)
  await until(() => status()?.failing === false, 'it works again')

  expect(log.lines.filter(({ level }) => level === 'warn' || level === 'info')).toEqual([
    {
      level: 'warn',
      fields: { channel: 'c0', error: 'answered HTTP 500' },
      message: 'notification channel is failing',
    },
    { level: 'info', fields: { channel: 'c0' }, message: 'notification channel works again' },
  ])
})

test('the end of an incident does not overtake its renewal on the way to an Alertmanager', async () => {
  const sink = await startSink()
  const { clock, put, notifier } = await setUp([{ target: { type: 'alertmanager', urls: [sink.url] } }])
  const status = () => notifier.status().channels[0]
  put(incident())
  await until(() => status()?.results.sent === 1, 'the message is sent')
  await clock.advance(1000)
  await until(() => status()?.lastSentAt === clock.now(), 'it is renewed')
  const seen: string[] = []

  sink.answer = (response) => {
    const isEnd = Date.parse(sink.bodies.at(-1)[0].endsAt) === START + 30_000
    seen.push(isEnd ? 'end' : 'renewal')
    const answer = () => {
      seen.push('answered')
      response.end()
    }
    if (isEnd) answer()
    else setTimeout(answer, 500)
  }
  await clock.advance(60_000)
  await until(() => seen.length === 1, 'the next renewal is on its way')
  put(incident({ closedAt: START + 30_000 }))
  await until(() => status()?.results.sent === 2, 'the end is sent')

  expect(seen).toEqual(['renewal', 'answered', 'end', 'answered'])
})

test('what is not sent is logged with network and endpoint', async () => {
  const sink = await startSink()
  sink.status = 404
  const { log, put } = await setUp([{ target: { type: 'webhook', url: sink.url, secret: null } }])

  put(incident())
  await until(() => log.lines.some(({ message }) => message === 'notification not sent'), 'it is logged')

  expect(log.lines.find(({ message }) => message === 'notification not sent')?.fields).toMatchObject({
    channel: 'c0',
    network: 'avalanche',
    endpoint: 'own-1',
    error: 'answered HTTP 404',
  })
})

test('what a channel has heard is known after a restart, however many older messages there are', async () => {
  const sink = await startSink()
  const hook = { target: { type: 'webhook', url: sink.url, secret: null } } as const
  const first = await setUp([hook])
  first.put(incident())
  await until(() => sink.bodies.length === 1, 'opened arrives')
  // It got worse and improved again before the message left: the last row says nothing of what was heard.
  const [row] = await first.store.notifications({ about: 'latest', limit: 1 })
  const value = { ...(row?.value as object), id: 'later', type: 'incident.worse', state: 'superseded' }
  first.store.saveNotification({ ...(row as NonNullable<typeof row>), id: 'later', value })
  await first.store.flush()
  await first.notifier.stop()

  const second = await setUp([hook], first.store)
  second.put(incident())
  second.put(incident({ closedAt: START + 90_000, changes: [change(), change({ at: START + 90_000, state: 'up' })] }))
  await until(() => sink.bodies.length === 2, 'closed arrives')

  expect(sink.bodies.map(({ type }) => type)).toEqual(['incident.opened', 'incident.closed'])
})

test('what waits for a channel that is removed is never sent, also if the channel returns', async () => {
  const sink = await startSink()
  sink.status = 500
  const hook = { target: { type: 'webhook', url: sink.url, secret: null } } as const
  const first = await setUp([hook])
  first.put(incident())
  await until(() => first.notifier.status().channels[0]?.results.retried === 1, 'it is tried')

  first.notifier.configure(settingsOf([]), null)
  const stored = async () => (await first.store.notifications({ about: 'latest', limit: 10 }))[0]
  await until(async () => {
    await first.store.flush()
    return (await stored())?.waiting === false
  }, 'it does not wait any more')

  expect((await stored())?.value).toMatchObject({
    state: 'expired',
    error: 'the channel was removed from the configuration',
  })
})

/** Has tried to send a message, and is stopped while that waits. */
async function stoppedWhileWaiting() {
  const sink = await startSink()
  sink.status = 500
  const hook = { target: { type: 'webhook', url: sink.url, secret: null } } as const
  const first = await setUp([hook])
  first.put(incident())
  await until(() => first.notifier.status().channels[0]?.results.retried === 1, 'it is tried')
  await first.notifier.stop()
  return { sink, hook, first }
}

test('what waits for a channel that was removed while Heartline was stopped ends at the start', async () => {
  const { hook, first } = await stoppedWhileWaiting()
  const [row] = await first.store.notifications({ about: 'unfinished', limit: 10 })
  first.store.saveNotification({ ...(row as NonNullable<typeof row>), id: 'damaged', value: { id: 'damaged' } })
  await first.store.flush()

  const second = await setUp([{ ...hook, name: 'other' }], first.store)
  await second.store.flush()

  const unfinished = await second.store.notifications({ about: 'unfinished', limit: 10 })
  expect(unfinished.filter(({ waiting }) => waiting)).toEqual([])
  expect(second.log.lines.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'stored notification cannot be read: it is not sent'],
  ])
})

test('a channel that was removed before it heard of an incident, and returns with a restart, hears that it is open', async () => {
  const { sink, hook, first } = await stoppedWhileWaiting()
  const without = await setUp([], first.store)
  await without.notifier.stop()
  await first.store.flush()
  sink.status = 200

  const second = await setUp([hook], first.store)
  second.incidents.put(incident())
  await second.clock.advance(1000)
  await until(() => sink.bodies.length === 1, 'opened arrives')
  second.put(incident({ closedAt: START + 90_000, changes: [change(), change({ at: START + 90_000, state: 'up' })] }))
  await until(() => sink.bodies.length === 2, 'closed arrives')

  expect(sink.bodies.map(({ type }) => type)).toEqual(['incident.opened', 'incident.closed'])
})

describe('a receiver that', () => {
  const hookTo = ({ url }: { url: Secret }) => [{ target: { type: 'webhook', url, secret: null } }] as const

  /** Lets time pass in steps that leave an answer time to arrive. */
  const pass = (clock: FakeClock, stepMs: number, holds: () => boolean, what: string) =>
    until(async () => {
      await clock.advance(stepMs)
      return holds()
    }, what)

  test.each(['hangs', 'resets', 'answers 429', 'answers 500', 'accepts it after the timeout'] as const)(
    '%s gets the message again, under the same id',
    async (fault) => {
      const sink = await startSink()
      let attempts = 0
      const late: ServerResponse[] = []
      sink.answer = (response) => {
        if (++attempts > 1) return response.end()
        if (fault === 'resets') return response.socket?.resetAndDestroy()
        if (fault === 'answers 429') return response.writeHead(429, { 'retry-after': '7' }).end()
        if (fault === 'answers 500') return response.writeHead(500).end()
        late.push(response)
        return undefined
      }
      const { clock, notifier, put } = await setUp(hookTo(sink))

      put(incident())
      await until(() => attempts === 1, 'the first attempt')
      if (fault === 'accepts it after the timeout') {
        await clock.advance(10_000)
        late[0]?.end()
      }
      await pass(clock, 1000, () => sink.bodies.length > 1, 'the second attempt')
      await pass(clock, 0, () => notifier.status().waiting.length === 0, 'it is known to be sent')

      expect(new Set(sink.ids).size).toBe(1)
      expect(notifier.status().channels[0]?.results).toMatchObject({ sent: 1 })
    },
  )

  test.each([3_600_000, -3_600_000])(
    'is down while the clock is set by %i ms hears everything in order, also after a restart',
    async (stepMs) => {
      const sink = await startSink()
      sink.status = 500
      const first = await setUp(hookTo(sink))
      const worse = { ...DEGRADED, state: 'degraded', changes: DEGRADED.changes.slice(1) } as const
      first.put(incident(worse))
      await until(() => first.notifier.status().channels[0]?.results.retried === 1, 'it is tried')
      first.clock.stepWall(stepMs)
      first.put(incident({ state: 'down' }))
      await first.store.flush()
      await first.notifier.stop()

      const second = await setUp(hookTo(sink), first.store)
      second.clock.stepWall(stepMs)
      sink.status = 200
      await pass(second.clock, 1000, () => messagesOf(sink).length === 2, 'both arrive')
      second.clock.stepWall(-stepMs)
      second.put(incident({ closedAt: START + 90_000, changes: [change({ at: START + 90_000, state: 'up' })] }))
      await pass(second.clock, 1000, () => messagesOf(sink).length === 3, 'the end arrives')

      expect(messagesOf(sink).map(({ type }) => type)).toEqual(['incident.opened', 'incident.worse', 'incident.closed'])
    },
  )

  test('is down while 5,000 incidents open gets each once, in few messages', async () => {
    const sink = await startSink()
    sink.status = 500
    const { clock, notifier, put } = await setUp([{ ...hookTo(sink)[0], groupWaitMs: 10_000 }])
    for (let nth = 0; nth < 5000; nth++) {
      put(incident({ id: `i-${nth}`, endpoint: `own-${nth}` }))
      if (nth % 500 === 0) await clock.advance(5000)
    }
    await until(() => notifier.status().waiting.length === 5000, 'all wait')
    sink.status = 200
    await pass(clock, 1000, () => notifier.status().waiting.length === 0, 'all are sent')

    const heard = messagesOf(sink).flatMap(({ data }) => data.incidents.map(({ id }: { id: string }) => id))
    expect(new Set(heard).size).toBe(5000)
    expect(heard.length).toBe(5000)
    expect(messagesOf(sink).length).toBeLessThanOrEqual(30)
  })
})

describe('in planned maintenance', () => {
  const HOUR = 3_600_000
  const UPGRADE = { name: 'upgrade', network: 'avalanche', endpoints: ['own-1'], from: START, until: START + HOUR }
  const told = (sink: Sink) =>
    messagesOf(sink).flatMap(({ type, data }) =>
      data.incidents.map(({ id, opened_at: openedAt }: any) => [type, id, Date.parse(openedAt) - START]),
    )

  async function setUpMaintained(over: Partial<ChannelSettings> = {}) {
    const sink = await startSink()
    const made = await setUp([{ target: { type: 'webhook', url: sink.url, secret: null }, ...over }])
    const endpoints = ['own-1', 'own-2'].map((name) => endpoint(name, { network: 'avalanche' }))
    made.world.configure([{ network: network({ name: 'avalanche' }), endpoints }])
    return { sink, ...made }
  }

  test('nothing is sent, and one message at its end about what is still bad', async () => {
    const { sink, clock, world, notifier, put } = await setUpMaintained()
    world.board.putMaintenance([UPGRADE])
    put(incident({ id: 'lasting' }))
    put(incident({ id: 'short' }))
    put(incident({ id: 'elsewhere', endpoint: 'own-2' }))
    await until(() => sink.bodies.length === 1, 'the message about the other endpoint')
    await until(() => notifier.status().waiting.length === 0, 'it is known to be sent')
    await clock.advance(HOUR / 2)
    put(incident({ id: 'short', closedAt: clock.now(), changes: [change(), change({ at: clock.now(), state: 'up' })] }))
    await clock.advance(HOUR / 2 - 1000)

    expect(told(sink)).toEqual([['incident.opened', 'elsewhere', 0]])
    expect(notifier.status().waiting).toEqual([])

    await clock.advance(3000)
    await until(() => messagesOf(sink).length === 2, 'the message about its end')
    await until(() => notifier.status().waiting.length === 0, 'it is known to be sent')
    await clock.advance(HOUR)

    expect(notifier.status().waiting).toEqual([])
    expect(told(sink).slice(1)).toEqual([['incident.opened', 'lasting', 0]])
  })

  test('what was sent before neither worsens nor repeats until its end', async () => {
    const { sink, clock, world, notifier, put } = await setUpMaintained({ repeatMs: HOUR / 4 })
    const degraded = { ...DEGRADED, state: 'degraded', changes: DEGRADED.changes.slice(1) } as const
    put(incident(degraded))
    await until(() => notifier.status().channels[0]?.results.sent === 1, 'it is sent')
    world.board.putMaintenance([UPGRADE])
    await clock.advance(HOUR / 2)
    put(incident({ changes: [...degraded.changes, change({ at: clock.now() })] }))
    await clock.advance(HOUR / 2 - 1000)

    expect(notifier.status().waiting).toEqual([])
    expect(told(sink)).toHaveLength(1)

    await clock.advance(3000)
    await until(() => notifier.status().channels[0]?.results.sent === 2, 'the message about its end')

    expect(told(sink).slice(1)).toEqual([['incident.worse', 'incident-1', 0]])
  })

  test('a halt of a network whose affected endpoints are all in it is not repeated, another one is', async () => {
    const { sink, world, put, ...made } = await setUpMaintained({ repeatMs: HOUR / 4 })
    put(incident({ id: 'own', endpoint: null, cause: 'halted', affected: ['own-1'] }))
    put(incident({ id: 'both', endpoint: null, cause: 'halted', affected: ['own-1', 'own-2'] }))
    await arrived(made, sink, 2)
    world.board.putMaintenance([UPGRADE])

    await made.clock.advance(HOUR / 4)
    await arrived(made, sink, 3)

    expect(told(sink)).toEqual([
      ['incident.opened', 'own', 0],
      ['incident.opened', 'both', 0],
      ['incident.repeated', 'both', 0],
    ])
  })

  test('what ends is sent', async () => {
    const { sink, world, put } = await setUpMaintained()
    put(incident())
    await until(() => sink.bodies.length === 1, 'it is sent')
    world.board.putMaintenance([UPGRADE])
    put(incident({ closedAt: START + 90_000, changes: [change(), change({ at: START + 90_000, state: 'up' })] }))
    await until(() => sink.bodies.length === 2, 'its end is sent')

    expect(told(sink).map(([type]) => type)).toEqual(['incident.opened', 'incident.closed'])
  })
})

test('Heartline is impaired only after some seconds of trouble, and recovered only after it has worked for a while', async () => {
  const sink = await startSink()
  const made = await setUp([{ target: { type: 'webhook', url: sink.url, secret: null } }])
  const { clock, reasons } = made
  const types = () => messagesOf(sink).map(({ type }) => type)

  reasons.push('the history cannot be written (full)')
  await clock.advance(2000)
  reasons.pop()
  await clock.advance(10_000)
  expect(types()).toEqual([])
  reasons.push('the history cannot be written (full)')
  await clock.advance(10_000)
  await arrived(made, sink, 1)
  for (let flip = 0; flip < 5; flip++) {
    reasons.pop()
    await clock.advance(5000)
    reasons.push('the history cannot be written (full)')
    await clock.advance(5000)
  }
  reasons.pop()
  await clock.advance(40_000)
  await arrived(made, sink, 2)

  expect(types()).toEqual(['heartline.impaired', 'heartline.recovered'])
  expect(messagesOf(sink)[1].data.text).toContain('has recovered after 61 s (was impaired: ')
})

test('which of several daemons is impaired is in its messages, also after a restart', async () => {
  const sink = await startSink()
  const first = await setUp(hookOf(sink), undefined, { member: 'fra1.host.9780' })
  first.reasons.push('the database cannot be reached')
  await first.clock.advance(10_000)
  await arrived(first, sink, 1)
  await first.store.flush()
  await first.notifier.stop()

  const second = await setUp(hookOf(sink), first.store, { member: 'fra1.host.9780' })
  await second.clock.advance(60_000)
  await arrived(second, sink, 2)

  expect(messagesOf(sink).map(({ data }) => data.text)).toEqual([
    'Heartline of fra1.host.9780 is impaired: the database cannot be reached',
    expect.stringMatching(
      /^Heartline of fra1\.host\.9780 has recovered after .* \(was impaired: the database cannot be reached\)$/,
    ),
  ])
})

test('after a restart the end of an impairment still says what it was', async () => {
  const sink = await startSink()
  const hook = { target: { type: 'webhook', url: sink.url, secret: null } } as const
  const first = await setUp([hook])
  first.reasons.push('the history cannot be written (full)')
  await first.clock.advance(10_000)
  await arrived(first, sink, 1)
  await first.store.flush()
  await first.notifier.stop()

  const second = await setUp([hook], first.store)
  await second.clock.advance(60_000)
  await arrived(second, sink, 2)

  expect(messagesOf(sink)[1].data.text).toContain('(was impaired: the history cannot be written (full))')
})

test('polls that are late for a minute are reported, and so is that they are on time again', async () => {
  const sink = await startSink()
  const clock = createFakeClock()
  let pollMs = 50
  const scheduler = createScheduler({
    clock,
    concurrency: 1,
    run: async (_key, signal) => {
      await clock.sleep(pollMs, signal)
      return { waitMs: 0 }
    },
    onLag: () => undefined,
    onSkip: () => undefined,
  })
  const items = ['a', 'b', 'c', 'd', 'e'].map((key) => ({
    key,
    intervalMs: 1000,
    retryMs: 250,
    limits: [{ name: `host of ${key}`, concurrency: 8 }],
  }))
  scheduler.configure(items)
  onTestFinished(() => scheduler.stop())
  const hook = { target: { type: 'webhook', url: sink.url, secret: null } } as const
  const { notifier } = await setUp([hook], undefined, { clock, polls: () => scheduler })
  scheduler.start()

  await clock.advance(20_000)
  pollMs = 5000
  await clock.advance(50_000)
  expect(scheduler.lateMs).toBeGreaterThan(30_000)
  expect(notifier.status().waiting).toEqual([])
  await clock.advance(30_000)
  await arrived({ clock, notifier }, sink, 1)
  pollMs = 50
  await clock.advance(25_000)
  expect(scheduler.lateMs).toBe(0)
  expect(notifier.status().waiting).toEqual([])
  await clock.advance(30_000)
  await arrived({ clock, notifier }, sink, 2)

  const late = 'polls are late: `poll.concurrency` is too low, or this machine too slow'
  expect(messagesOf(sink).map(({ type, data }) => [type, data.text])).toEqual([
    ['heartline.impaired', `Heartline itself is impaired: ${late}`],
    ['heartline.recovered', expect.stringContaining(`(was impaired: ${late})`)],
  ])
})

test('the heartbeat beats however often the configuration is reloaded', async () => {
  const sink = await startSink()
  const { clock, notifier } = await setUp([])
  const beats = { ...settingsOf([]), heartbeat: { url: sink.url, everyMs: 3_600_000 } }
  notifier.configure(beats, null)
  for (let reloads = 0; reloads < 2; reloads++) {
    await clock.advance(1_800_000)
    notifier.configure({ ...beats, heartbeat: { ...beats.heartbeat } }, null)
  }

  await until(() => typeof notifier.status().heartbeat?.lastSentAt === 'number', 'it beats')
})

test('a heartbeat that is due in a moment of trouble beats once that is over, not an interval later', async () => {
  const sink = await startSink()
  let lateMs = 10
  const { clock, notifier } = await setUp([], undefined, { polls: () => ({ firstRoundDone: true, lateMs }) })
  notifier.configure({ ...settingsOf([]), heartbeat: { url: sink.url, everyMs: 3_600_000 } }, null)
  await clock.advance(3_600_000)
  expect(notifier.status().heartbeat).toEqual({ lastSentAt: null, lastError: null })

  lateMs = 0
  await clock.advance(2000)
  await until(() => typeof notifier.status().heartbeat?.lastSentAt === 'number', 'it beats')

  await clock.advance(3_597_000)
  expect(sink.bodies).toHaveLength(1)
})

test('an Alertmanager of several that refuses every alert makes its channel fail, though the other one accepts', async () => {
  const [good, bad] = [await startSink(), await startSink()]
  bad.status = 404
  const target = { type: 'alertmanager' as const, urls: [good.url, bad.url] }
  const { notifier, put } = await setUp([{ target }])

  put(incident())
  await until(() => notifier.status().channels[0]?.results.sent === 1, 'it is sent')

  const [channel] = notifier.status().channels
  expect([channel?.failing, channel?.lastError]).toEqual([true, '1 of 2 instances: answered HTTP 404'])
})

test('a channel with another URL does not wait for what the one before has asked for', async () => {
  const [busy, free] = [await startSink(), await startSink()]
  busy.answer = (response) => response.writeHead(429, { 'retry-after': '3600' }).end()
  const { notifier, put } = await setUp(hookOf(busy))
  put(incident())
  await until(() => notifier.status().channels[0]?.results.retried === 1, 'the receiver answers 429')

  notifier.configure(settingsOf(hookOf(free)), null)

  await until(() => notifier.status().channels[0]?.results.sent === 1, 'it is sent to the other one')
})

test('an alert of Opsgenie that gets worse has its new priority, also if a request about it fails', async () => {
  const sink = await startSink()
  const methods: string[] = []
  sink.answer = (response) => {
    methods.push(String(response.req.method))
    response.writeHead(methods.length === 3 ? 429 : 202).end()
  }
  const { clock, notifier, put } = await setUp([
    { target: { type: 'opsgenie', apiUrl: sink.url, apiKey: new Secret('0123456789abcdef') } },
  ])
  const sent = (count: number) =>
    until(async () => {
      await clock.advance(1000)
      return notifier.status().channels[0]?.results.sent === count
    }, `${count} are sent`)

  put(incident({ ...DEGRADED, state: 'degraded', changes: [change({ state: 'degraded', codes: ['lagging'] })] }))
  await sent(1)
  put(incident())
  await sent(2)

  expect(methods).toEqual(['POST', 'POST', 'PUT', 'POST', 'PUT', 'PUT'])
  expect(sink.bodies.map(({ priority }) => priority)).toEqual(['P3', 'P1', undefined, 'P1', undefined, 'P1'])
})

test('a group that waits when its channel becomes one of PagerDuty is sent as an alert for each incident', async () => {
  const [chat, pager] = [await startSink(), await startSink()]
  chat.status = 500
  const { clock, notifier, put } = await setUp([
    { target: { type: 'slack', webhookUrl: chat.url }, groupWaitMs: 10_000 },
  ])
  for (const id of ['a', 'b', 'c']) put(incident({ id, endpoint: id }))
  await clock.advance(10_000)
  await until(() => notifier.status().channels[0]?.results.retried === 1, 'the group is tried')

  const target = { type: 'pagerduty' as const, apiUrl: pager.url, routingKey: new Secret('0123456789abcdef') }
  notifier.configure(settingsOf([{ target }]), null)

  await until(() => notifier.status().waiting.length === 0, 'nothing waits')
  expect(pager.bodies.map((body) => [body.event_action, body.dedup_key, body.payload.component])).toEqual([
    ['trigger', 'a', 'a'],
    ['trigger', 'b', 'b'],
    ['trigger', 'c', 'c'],
  ])
})

test('the heartbeat stops while rows do not reach the store, and goes on when they do', async () => {
  const sink = await startSink()
  const clock = createFakeClock()
  const path = join(temporaryDirectory(), 'store.db')
  const { store } = await opened({ path, clock })
  store.register([{ endpoint: 'ethereum/own-1', holdMs: 30_000 }], clock.now())
  await store.flush()
  const trouble = () => (store.status().trouble === null ? [] : ['the history cannot be written'])
  const { notifier } = await setUp([], store, { clock, trouble })
  notifier.configure({ ...settingsOf([]), heartbeat: { url: sink.url, everyMs: 60_000 } }, null)
  const heartbeat = () => notifier.status().heartbeat
  await clock.advance(60_000)
  await until(() => heartbeat()?.lastSentAt === clock.now(), 'the heartbeat beats')
  const before = heartbeat()

  const foreign = new Database(path)
  foreign.exec('BEGIN IMMEDIATE')
  store.poll(pollOf(clock.now()))
  for (let minute = 0; minute < 5; minute++) {
    // Gives a request, if there is one, the time to arrive.
    await store.flush()
    await clock.advance(60_000)
  }
  expect(store.status()).toMatchObject({ trouble: 'busy', rowsWritten: 0 })
  expect(heartbeat()).toEqual(before)
  expect(sink.bodies).toHaveLength(1)

  foreign.exec('COMMIT')
  foreign.close()
  await until(async () => {
    await store.flush()
    return store.status().trouble === null
  }, 'the row is written')
  await clock.advance(1000)
  await until(() => heartbeat()?.lastSentAt === clock.now(), 'the heartbeat beats again')

  expect(store.status().rowsWritten).toBe(1)
  expect(sink.bodies).toHaveLength(2)
})

describe('of two daemons with one store', () => {
  const AVALANCHE = new Set(['avalanche'])

  test('the second sends what the first has queued once it reports about the network, and the first no more', async () => {
    const sink = await startSink()
    sink.status = 500
    const { store } = await opened({ path: ':memory:' })
    let teller = 'first'
    const first = await setUp(hookOf(sink), store, { tells: () => teller === 'first', member: 'first' })
    const second = await setUp(hookOf(sink), store, { tells: () => teller === 'second', member: 'second' })
    await first.notifier.adopt(AVALANCHE, store)
    first.put(incident())
    await until(() => first.notifier.status().channels[0]?.failing === true, 'the first one tried')
    await second.clock.advance(10_000)
    expect(second.notifier.status().waiting).toEqual([])

    teller = 'second'
    await first.notifier.leave('avalanche')
    sink.status = 200
    await second.notifier.adopt(AVALANCHE, store)
    await until(() => sink.bodies.length === 1, 'it arrives')
    second.put(incident({ closedAt: START + 600_000 }))
    await until(() => sink.bodies.length === 2, 'its end arrives')
    await first.clock.advance(120_000)

    expect(sink.bodies.map(({ type }) => type)).toEqual(['incident.opened', 'incident.closed'])
    expect(first.notifier.status().waiting).toEqual([])
  })

  test('what the first has queued about an incident that it stored late is sent once, with its end', async () => {
    const sink = await startSink()
    sink.status = 500
    const { store } = await opened({ path: ':memory:' })
    const first = await setUp(hookOf(sink), store, { tells: () => true, member: 'first' })
    const second = await setUp(hookOf(sink), store, { tells: () => true, member: 'second' })
    await first.notifier.adopt(AVALANCHE, store)
    await second.notifier.adopt(AVALANCHE, store)
    first.put(incident())
    await until(() => first.notifier.status().channels[0]?.failing === true, 'the first one tried')
    await first.notifier.stop()
    sink.status = 200

    const about = { incidents: [incident().id] }
    await second.notifier.adopt(AVALANCHE, store, about)
    await second.notifier.adopt(AVALANCHE, store, about)
    expect(second.notifier.status().waiting).toMatchObject([{ type: 'incident.opened' }])
    second.put(incident({ closedAt: START + 600_000, absorbedBy: 'other' }))
    await until(() => second.notifier.status().waiting.length === 0, 'nothing waits')
    await second.clock.advance(10_000)

    const types = sink.bodies.map(({ type }) => type)
    expect(types.filter((type) => type === 'incident.closed')).toHaveLength(1)
    expect(types.at(-1)).toBe('incident.closed')
    await store.flush()
    const rows = await store.notifications({ about: 'latest', limit: 9 })
    expect(rows.map(({ waiting }) => waiting)).not.toContain(true)
  })

  test('an open incident is not told again before it is known what channels have heard', async () => {
    const sink = await startSink()
    const { store } = await opened({ path: ':memory:' })
    let teller = 'first'
    const first = await setUp(hookOf(sink), store, { tells: () => teller === 'first', member: 'first' })
    await first.notifier.adopt(AVALANCHE, store)
    first.put(incident())
    await until(() => first.notifier.status().channels[0]?.results.sent === 1, 'it is sent')
    await first.notifier.leave('avalanche')

    teller = 'second'
    const second = await setUp(hookOf(sink), store, { tells: () => teller === 'second', member: 'second' })
    second.incidents.put(incident())
    const away = { notifications: () => Promise.reject(new Error('away')) }
    await expect(second.notifier.adopt(AVALANCHE, away)).rejects.toThrow('away')
    await second.clock.advance(5000)
    await second.notifier.adopt(AVALANCHE, store)
    await second.clock.advance(5000)

    expect([second.notifier.status().waiting, sink.bodies.length]).toEqual([[], 1])
  })

  test('a message in flight when the network is left is stored as sent, and not sent again', async () => {
    const sink = await startSink()
    let answer = () => {}
    sink.answer = (response) => {
      answer = () => response.end()
    }
    const { store } = await opened({ path: ':memory:' })
    let teller = 'first'
    const first = await setUp(hookOf(sink), store, { tells: () => teller === 'first', member: 'first' })
    const second = await setUp(hookOf(sink), store, { tells: () => teller === 'second', member: 'second' })
    await first.notifier.adopt(AVALANCHE, store)
    first.put(incident())
    await until(() => sink.bodies.length === 1, 'it is on its way')

    teller = 'second'
    const left = first.notifier.leave('avalanche')
    answer()
    await left
    await second.notifier.adopt(AVALANCHE, store)
    await second.clock.advance(10_000)

    expect(second.notifier.status().waiting).toEqual([])
    expect(sink.bodies).toHaveLength(1)
  })

  test('a message is held back while the store refuses its row, and dropped with its network', async () => {
    const sink = await startSink()
    const { store } = await opened({ path: ':memory:' })
    let tells = true
    const { clock, notifier, log, incidents } = await setUp(hookOf(sink), store, { tells: () => tells, member: 'm' })
    await notifier.adopt(AVALANCHE, store)
    const opening = incident()
    incidents.put(opening)
    const [row] = notifier.changed(opening)
    for (let seconds = 0; seconds < 20; seconds++) await clock.advance(1000)
    expect(notifier.status().waiting).toHaveLength(1)

    tells = false
    await Promise.all([notifier.leave('avalanche'), clock.advance(2000)])
    await clock.advance(10_000)

    expect([row?.waiting, notifier.status().waiting, sink.bodies]).toEqual([true, [], []])
    expect(log.lines).toEqual([])
  })

  test('a message that is tried again waits while another member may have the lease, and is sent once it is valid', async () => {
    const sink = await startSink()
    sink.status = 500
    const { store } = await opened({ path: ':memory:' })
    let isValid = true
    const lease = { tells: () => true, maySend: () => isValid, member: 'm' }
    const { clock, notifier, put, reasons } = await setUp(hookOf(sink), store, lease)
    await notifier.adopt(AVALANCHE, store)
    put(incident())
    await until(() => notifier.status().channels[0]?.failing === true, 'it was tried')

    isValid = false
    sink.status = 200
    reasons.push('its network seems to be gone')
    await until(async () => {
      await clock.advance(1000)
      return sink.bodies.length > 0
    }, 'its own trouble is sent')
    expect(messagesOf(sink).map(({ type }) => type)).toEqual(['heartline.impaired'])

    isValid = true
    await arrived({ clock, notifier }, sink, 2)
    expect(messagesOf(sink).map(({ type }) => type)).toEqual(['heartline.impaired', 'incident.opened'])
  })

  test('an Alertmanager is not sent again what another member may have resolved, until the lease is valid', async () => {
    const sink = await startSink()
    const { store } = await opened({ path: ':memory:' })
    let isValid = true
    const lease = { tells: () => true, maySend: () => isValid, member: 'm' }
    const target = { type: 'alertmanager' as const, urls: [sink.url] }
    const { clock, notifier, put, reasons } = await setUp([{ target }], store, lease)
    const alerts = () => sink.bodies.flatMap((body) => body.map((alert: any) => alert.labels.alertname) as string[])
    const sentAgain = (name: string, times: number) =>
      until(async () => {
        // What is in flight arrives meanwhile.
        for (let seconds = 0; seconds < 15; seconds++) {
          await clock.advance(1000)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
        return alerts().filter((one) => one === name).length >= times
      }, `${name} is sent ${times} times`)
    await notifier.adopt(AVALANCHE, store)
    put(incident())
    await until(() => notifier.status().waiting.length === 0, 'it is sent')
    const before = alerts().length

    isValid = false
    reasons.push('its network seems to be gone')
    await sentAgain('HeartlineImpaired', 3)
    expect(new Set(alerts().slice(before))).toEqual(new Set(['HeartlineImpaired']))

    isValid = true
    await sentAgain('HeartlineEndpointDown', 2)
  })

  test('messages of a mass outage are confirmed with one question', async () => {
    const sink = await startSink()
    const { store } = await opened({ path: ':memory:' })
    const asked: unknown[] = []
    const counting = {
      ...store,
      notifications: (query: Parameters<typeof store.notifications>[0]) => {
        if (typeof query.about === 'object' && 'ids' in query.about) asked.push(query.about)
        return store.notifications(query)
      },
    }
    const first = await setUp(hookOf(sink), counting, { tells: () => true, member: 'm' })
    await first.notifier.adopt(AVALANCHE, store)
    for (let nth = 0; nth < 20; nth++) first.put(incident({ id: `i-${nth}`, endpoint: `e-${nth}` }))
    await until(() => first.notifier.status().channels[0]?.results.sent !== 0, 'one is sent')

    expect(asked).toEqual([{ ids: expect.arrayContaining([expect.any(String)]) }])
    expect(new Set((asked[0] as { ids: string[] }).ids).size).toBe(20)
  })

  test('each reports its own trouble, also after a restart', async () => {
    const sink = await startSink()
    const { store } = await opened({ path: ':memory:' })
    const first = await setUp(hookOf(sink), store, { member: 'first', tells: () => false })
    first.reasons.push('its network seems to be gone')
    await first.clock.advance(10_000)
    await arrived(first, sink, 1)
    await first.notifier.stop()

    const other = await setUp(hookOf(sink), store, { member: 'other', tells: () => false })
    await other.clock.advance(60_000)
    expect(messagesOf(sink)).toHaveLength(1)
    const again = await setUp(hookOf(sink), store, { member: 'first', tells: () => false })
    await again.clock.advance(60_000)
    await arrived(again, sink, 2)

    expect(messagesOf(sink).map(({ type }) => type)).toEqual(['heartline.impaired', 'heartline.recovered'])
  })
})
