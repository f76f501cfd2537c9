import { describe, expect, onTestFinished, test } from 'vitest'
import type { NotifySettings } from '../../src/config/resolve-notify.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { reportOf } from '../../src/notify/notification.ts'
import { createNotifier } from '../../src/notify/notifier.ts'
import { Outbox } from '../../src/notify/outbox.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { Secret } from '../../src/secret.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { opened } from '../store/setting.ts'
import { until } from '../support/daemon.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { change, condition, incident, incidentRecord, START } from '../support/incident.ts'
import { recordingLog } from '../support/log.ts'
import { createWorld } from '../support/world.ts'
import { startReceiver } from './receiver.ts'
import { route } from './support.ts'

const HOUR = 3_600_000
const OWN = { network: 'avalanche', endpoint: 'own-1', reason: 'upgrade' }
const DOWN = incident({ id: 'a', openedAt: START })

const worse = (of: Incident): Incident => ({
  ...of,
  state: 'down',
  changes: [...of.changes, change({ at: START + HOUR / 2, state: 'down' })],
})
const DEGRADED = incident({
  id: 'a',
  state: 'degraded',
  conditions: [condition({ code: 'slow', state: 'degraded' })],
  changes: [change({ state: 'degraded', codes: ['slow'] })],
})

interface Given {
  readonly clock?: FakeClock
  readonly store?: Awaited<ReturnType<typeof opened>>['store']
  readonly groupWaitMs?: number
  readonly repeatMs?: number
  readonly routes?: NotifySettings['routes']
}

/** A notifier with one webhook, over a real store and a real receiver; only time is driven. */
async function setUp(given: Given = {}) {
  const { clock = createFakeClock({ now: START }), groupWaitMs = 0, repeatMs = null, routes = null } = given
  const { store = (await opened({ path: ':memory:', clock })).store } = given
  const told: string[] = []
  const url = await startReceiver(({ type, data }) =>
    told.push(...data.incidents.map(({ id, state }) => `${type} ${id} ${state}`)),
  )
  const log = recordingLog()
  const incidents = createIncidentLog()
  const silences = createSilences({ clock, store, log })
  const notifier = createNotifier({
    clock,
    log,
    store,
    incidents,
    silences,
    board: createWorld(clock, []).board,
    trouble: () => [],
    polls: () => ({ firstRoundDone: true, lateMs: 0 }),
    random: () => 0,
  })
  onTestFinished(() => notifier.stop())
  const target = { type: 'webhook', url: new Secret(url), secret: null } as const
  const channel = { name: 'hook', minState: 'degraded', groupWaitMs, repeatMs, ca: null, target } as const
  const settings: NotifySettings = { channels: [channel], routes, ratePerMinute: 1000, heartbeat: null }
  notifier.configure(settings, null)
  await silences.restore()
  await notifier.restore()
  notifier.start()

  async function change(now: Incident): Promise<void> {
    incidents.put(now)
    store.saveIncident(incidentRecord(now), notifier.changed(now))
    await store.flush()
  }

  /** Lets time pass until everything that is to be sent has arrived. */
  async function pass(ms: number): Promise<string[]> {
    await clock.advance(ms)
    await until(async () => {
      await store.flush()
      await clock.advance(0)
      return notifier.status().waiting.length === 0
    }, 'nothing waits')
    return told
  }

  return { clock, store, silences, change, pass, told }
}

/** From midnight, when the clock starts, until seven. */
const QUIET = { fromMinute: 22 * 60, untilMinute: 7 * 60, timeZone: 'UTC' }
const NIGHT = route({ channels: ['hook'], quiet: QUIET })

describe('quiet hours', () => {
  test('put off what opens, and what is still open at their end is sent then, once', async () => {
    const { change: tell, pass } = await setUp({ routes: [NIGHT] })
    await tell(DOWN)
    await tell({ ...DOWN, id: 'short', endpoint: 'own-2' })
    await pass(HOUR)
    await tell({ ...DOWN, id: 'short', endpoint: 'own-2', closedAt: START + HOUR })

    expect(await pass(6 * HOUR - 10_000)).toEqual([])
    expect(await pass(20_000)).toEqual(['incident.opened a down'])
    expect(await pass(HOUR)).toEqual(['incident.opened a down'])
  })

  test('put off a change for the worse of what was sent before, and no end', async () => {
    const clock = createFakeClock({ now: START - 3 * HOUR })
    const { change: tell, pass } = await setUp({ clock, routes: [NIGHT] })
    await tell(DEGRADED)
    await tell({ ...DEGRADED, id: 'b', endpoint: 'own-2' })
    const before = [...(await pass(1000))]
    await clock.advance(2 * HOUR)
    await tell(worse(DEGRADED))
    await tell({ ...DEGRADED, id: 'b', endpoint: 'own-2', closedAt: clock.now() })
    const atNight = (await pass(1000)).slice(2)
    await clock.advance(8 * HOUR - 10_000)

    expect(before).toEqual(['incident.opened a degraded', 'incident.opened b degraded'])
    expect(atNight).toEqual(['incident.closed b degraded'])
    expect((await pass(20_000)).slice(3)).toEqual(['incident.worse a down'])
  })

  test('put off improvements and repetitions of what was sent before', async () => {
    const clock = createFakeClock({ now: START - 2 * HOUR - 60_000 })
    const { change: tell, pass } = await setUp({ clock, routes: [NIGHT], repeatMs: HOUR })
    await tell(DOWN)
    await tell({ ...DOWN, id: 'b', endpoint: 'own-2' })
    const before = [...(await pass(1000))]
    await clock.advance(HOUR)
    await tell({ ...DOWN, changes: [...DOWN.changes, change({ at: clock.now(), state: 'degraded' })] })
    await pass(8 * HOUR + 49_000)
    const atNight = (await pass(0)).slice(2)

    expect(before).toEqual(['incident.opened a down', 'incident.opened b down'])
    expect(atNight).toEqual([])
    expect((await pass(20_000)).slice(2).toSorted()).toEqual(['incident.better a degraded', 'incident.repeated b down'])
  })

  test('let pass what is down where the route says so', async () => {
    const { change: tell, pass } = await setUp({ routes: [{ ...NIGHT, quietPasses: 'down' }] })
    await tell(DOWN)
    await tell({ ...DEGRADED, id: 'b', endpoint: 'own-2' })

    expect(await pass(1000)).toEqual(['incident.opened a down'])
    expect(await pass(HOUR)).toEqual(['incident.opened a down'])
  })
})

describe('a silence', () => {
  test('hushes what opens, and what is still open at its end is sent then, once', async () => {
    const { silences, change, pass } = await setUp()
    silences.add({ ...OWN, forMs: HOUR })
    await change(DOWN)

    expect(await pass(HOUR - 1000)).toEqual([])
    expect(await pass(2000)).toEqual(['incident.opened a down'])
    expect(await pass(HOUR)).toEqual(['incident.opened a down'])
  })

  test('that is ended sends it at once', async () => {
    const { silences, change, pass } = await setUp()
    const silence = silences.add({ ...OWN, endpoint: null, forMs: HOUR })
    await change(DOWN)
    const before = [...(await pass(60_000))]

    silences.end(silence?.id ?? '')

    expect(before).toEqual([])
    expect(await pass(1000)).toEqual(['incident.opened a down'])
  })

  test('leaves nothing to send about what opened and closed in it', async () => {
    const { silences, change, pass } = await setUp()
    silences.add({ ...OWN, forMs: HOUR })
    await change(DOWN)
    await pass(60_000)
    await change({ ...DOWN, closedAt: START + 60_000 })

    expect(await pass(2 * HOUR)).toEqual([])
  })

  test('leaves nothing to send about what waited when it began and closed at once in it', async () => {
    const { silences, change, pass, told } = await setUp({ groupWaitMs: 10_000 })
    await change(DOWN)
    silences.add({ ...OWN, forMs: HOUR })
    await change({ ...DOWN, closedAt: START + 1 })

    expect(await pass(2 * HOUR)).toEqual([])
    expect(told).toEqual([])
  })

  test('takes back all that waits about a thousand incidents before the next message is due', async () => {
    const { silences, change, pass } = await setUp({ groupWaitMs: 2000 })
    const ids = Array.from({ length: 1000 }, (_, at) => `i-${at}`)
    await Promise.all(ids.map((id) => change({ ...DOWN, id })))
    silences.add({ ...OWN, endpoint: null, forMs: HOUR })

    expect(await pass(10_000)).toEqual([])
  })

  test('lets the end of what was sent before pass', async () => {
    const { silences, change, pass } = await setUp()
    await change(DOWN)
    await pass(1000)
    silences.add({ ...OWN, forMs: HOUR })
    await change({ ...DOWN, closedAt: START + 60_000 })

    expect(await pass(1000)).toEqual(['incident.opened a down', 'incident.closed a down'])
  })

  test('hushes a change for the worse, which is sent at its end', async () => {
    const { silences, change, pass, told } = await setUp()
    await change(DEGRADED)
    await pass(1000)
    silences.add({ ...OWN, forMs: HOUR })
    await change(worse(DEGRADED))
    await pass(HOUR / 2)
    const during = [...told]

    expect(during).toEqual(['incident.opened a degraded'])
    expect(await pass(HOUR / 2 + 2000)).toEqual(['incident.opened a degraded', 'incident.worse a down'])
  })

  test('takes back what waits to be sent, and no message that was sent', async () => {
    const { silences, change, pass, store, clock } = await setUp({ groupWaitMs: 10_000 })
    await change(DEGRADED)
    const before = [...(await pass(11_000))]
    await change(worse(DEGRADED))
    await pass(1000)
    await change(incident({ id: 'b', network: 'ethereum' }))
    await store.flush()
    silences.add({ ...OWN, network: 'ethereum', endpoint: null, forMs: HOUR })

    expect(before).toEqual(['incident.opened a degraded'])
    expect(await pass(HOUR - 2000)).toEqual([...before, 'incident.worse a down'])
    expect(await store.notifications({ about: { incidents: ['b'] }, limit: 10 })).toMatchObject([{ waiting: false }])
    await clock.advance(3000)
    expect(await pass(11_000)).toEqual([...before, 'incident.worse a down', 'incident.opened b down'])
  })

  test('takes back a change for the worse that waits behind its opening, and says it at its end', () => {
    const outbox = new Outbox({
      settings: () => ({ channel: 'hook', minState: 'degraded', groupWaitMs: 0 }),
      newId: () => String(++id),
    })
    let id = 0
    const changeTo = (state: 'degraded' | 'down') => ({
      subject: 'a',
      kind: 'incident' as const,
      open: true,
      state,
      flapping: false,
      absorbed: false,
      wanted: true,
      text: '',
      report: (previous: 'up' | 'degraded' | 'down' | null) => reportOf(DEGRADED, previous, ''),
    })
    const [opening] = outbox.changed(changeTo('degraded'), START, 0)
    outbox.stored(new Set([opening?.id ?? '']))
    outbox.take(START, 0)
    outbox.changed(changeTo('down'), START, 0)

    const dropped = outbox.hush('a', START).map(({ type, state }) => `${type} ${state}`)

    expect(dropped).toEqual(['incident.worse superseded'])
    expect(outbox.hush('a', START)).toEqual([])
    expect(outbox.heard('a')).toEqual({ open: true, state: 'degraded' })
    expect(outbox.changed(changeTo('down'), START, 0).map(({ type }) => type)).toEqual(['incident.worse'])
  })

  test('of another endpoint or network hushes nothing', async () => {
    const { silences, change, pass } = await setUp()
    silences.add({ ...OWN, endpoint: 'own-2', forMs: HOUR })
    silences.add({ ...OWN, network: 'ethereum', endpoint: null, forMs: HOUR })
    await change(DOWN)

    expect(await pass(1000)).toEqual(['incident.opened a down'])
  })

  test('of some endpoints hushes an outage only if it has them all, and no event of the whole network', async () => {
    const { silences, change, pass } = await setUp()
    const outage = incident({ id: 'o', endpoint: null, cause: 'outage', affected: ['own-1', 'own-2'] })
    const halt = incident({ id: 'h', endpoint: null, cause: 'halted', affected: ['own-1', 'own-2'] })
    const both = [silences.add({ ...OWN, forMs: HOUR }), silences.add({ ...OWN, endpoint: 'own-2', forMs: HOUR })]
    await change(outage)
    await change(halt)
    const hushed = [...(await pass(1000))]

    silences.end(both[1]?.id ?? '')

    expect(hushed).toEqual(['incident.opened h down'])
    expect(await pass(1000)).toEqual(['incident.opened h down', 'incident.opened o down'])
  })

  test('holds after a restart, and an ended one does not', async () => {
    const { clock, store, silences } = await setUp()
    silences.add({ ...OWN, forMs: HOUR })
    const ended = silences.add({ ...OWN, network: 'ethereum', endpoint: null, forMs: HOUR })
    silences.end(ended?.id ?? '')
    await store.flush()

    const later = await setUp({ clock, store })
    await later.change(DOWN)
    await later.change(incident({ id: 'b', network: 'ethereum' }))

    expect(later.silences.active()).toEqual(silences.active())
    expect(await later.pass(1000)).toEqual(['incident.opened b down'])
  })

  test('that is ended here stays so, whatever another daemon with the same store knows by then', async () => {
    const { silences, clock, store } = await setUp()
    const begun = silences.add({ ...OWN, forMs: HOUR }) ?? expect.fail('there is room')
    await clock.advance(10)
    const endedThere = { ...begun, until: clock.now() }
    await clock.advance(10)
    const ended = silences.end(begun.id) ?? expect.fail('it holds')

    silences.learn(begun)
    expect(silences.active()).toEqual([])
    expect(await silences.isStored(ended)).toBe(false)
    // Its row has the earlier end.
    store.saveSilence(endedThere)
    await store.flush()
    expect(await silences.isStored(ended)).toBe(true)
  })

  test('is known to the incidents that it touched, also when it has ended', async () => {
    const { silences, clock, store } = await setUp()
    const about = silences.add({ ...OWN, forMs: HOUR })
    silences.add({ ...OWN, endpoint: 'own-2', forMs: HOUR })
    await clock.advance(2 * HOUR)
    await store.flush()

    expect(await silences.during(DOWN)).toEqual([about])
    expect(await silences.during({ ...DOWN, openedAt: START + HOUR })).toEqual([])
    expect(await silences.during({ ...DOWN, openedAt: START - 2, closedAt: START - 1 })).toEqual([])
  })
})
