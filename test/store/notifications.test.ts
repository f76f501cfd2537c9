import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BATCH_ROWS, createBatchQueue } from '../../src/store/batch-queue.ts'
import type { IncidentRecord, NotificationRecord } from '../../src/store/store.ts'
import type { Batch, WriteEvent } from '../../src/store/write-events.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, benchOn, DAY_MS, finish, pollOf, RETENTION } from './setting.ts'

function incidentOf(id: string, wanted: Partial<IncidentRecord> = {}): IncidentRecord {
  const rest = { network: 'ethereum', endpoint: 'own-1', openedAt: BASE, closedAt: null, absorbed: false }
  return { id, ...rest, value: id, ...wanted }
}

function notificationOf(id: string, wanted: Partial<NotificationRecord> = {}): NotificationRecord {
  return { id, channel: 'ops', incident: 'a', createdAt: BASE, waiting: true, value: { said: id }, ...wanted }
}

const engines = everyEngine()

describe('notifications', () => {
  for (const { name, open } of engines) {
    test(`${name} are returned as they were saved last, in the order in which they were added`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE }) })

      store.saveIncident(incidentOf('a'), [notificationOf('z'), notificationOf('y', { channel: 'pager' })])
      store.saveIncident(incidentOf('b', { closedAt: BASE + 1 }), [notificationOf('x', { incident: 'b' })])
      await store.flush()
      store.saveNotification(notificationOf('z', { waiting: false, value: 'sent' }))
      await store.flush()

      const idsOf = async (about: Parameters<typeof store.notifications>[0]['about'], limit = 10) =>
        (await store.notifications({ about, limit })).map(({ id }) => id)
      expect(await idsOf('unfinished')).toEqual(['z', 'y', 'x'])
      expect(await idsOf('latest', 2)).toEqual(['y', 'x'])
      expect(await idsOf({ incidents: ['b', 'none'] })).toEqual(['x'])
      expect((await store.notifications({ about: 'unfinished', limit: 10 }))[0]).toEqual(
        notificationOf('z', { waiting: false, value: 'sent' }),
      )
    })
  }

  for (const { name, open } of engines) {
    test(`${name} of a page of incidents are the newest of each one`, async () => {
      const { store } = await open()
      for (let nth = 0; nth < 30; nth++) {
        const incident = nth < 20 ? 'busy' : 'quiet'
        store.saveNotification(notificationOf(`n-${nth}`, { incident, createdAt: BASE + nth }))
      }
      await store.flush()

      const found = await store.notifications({ about: { incidents: ['busy', 'quiet'] }, limit: 2 })

      expect(found.map(({ id }) => id)).toEqual(['n-18', 'n-19', 'n-28', 'n-29'])
    })
  }

  for (const { name, open } of engines) {
    test(`${name} are found by their ids`, async () => {
      const { store } = await open()
      for (const id of ['a', 'b', 'c']) store.saveNotification(notificationOf(id))
      await store.flush()

      const ids = ['c', 'none', 'a', 'c']
      const found = await store.notifications({ about: { ids }, limit: ids.length })

      expect(found).toEqual([notificationOf('a'), notificationOf('c')])
    })
  }

  for (const { name, open } of engines) {
    test(`${name} are found by a part of what they are about, the newest of them`, async () => {
      const { store } = await open()
      for (const [nth, incident] of ['x-heartline', 'y-net-gateway.m', 'a', 'z-heartline.m'].entries()) {
        store.saveNotification(notificationOf(`n-${nth}`, { incident }))
      }
      await store.flush()
      const idsOf = async (naming: readonly string[], limit: number) =>
        (await store.notifications({ about: { naming }, limit })).map(({ id }) => id)

      expect(await idsOf(['-heartline', '-gateway'], 9)).toEqual(['n-0', 'n-1', 'n-3'])
      expect(await idsOf(['-heartline', '-gateway'], 2)).toEqual(['n-1', 'n-3'])
      expect([await idsOf(['-HEARTLINE'], 9), await idsOf([], 9)]).toEqual([[], []])
    })
  }

  for (const { name, open } of engines) {
    test(`${name} that tell what each channel heard last of open incidents are found, whatever their number and the clock`, async () => {
      const { store } = await open()
      store.saveIncident(incidentOf('open'))
      store.saveIncident(incidentOf('absorbed', { absorbed: true }))
      const rows: [string, Partial<NotificationRecord>][] = [
        ['old', { channel: 'ops' }],
        ['heard', { channel: 'ops' }],
        ['undone', { channel: 'ops', value: { state: 'superseded' } }],
        ['waits', { channel: 'pager', waiting: true, createdAt: BASE - 3_600_000 }],
        ['part', { incident: 'absorbed' }],
      ]
      for (const [id, over] of rows) {
        store.saveNotification(
          notificationOf(id, { incident: 'open', waiting: false, value: { state: 'sent' }, ...over }),
        )
      }
      await store.flush()

      const found = await store.notifications({ about: 'unfinished', limit: 10 })

      expect(found.map(({ id }) => id)).toEqual(['heard', 'waits'])
    })
  }

  for (const { name, open } of engines) {
    test(`${name} are found though the error of one ends with half of a character`, async () => {
      const { store } = await open()
      store.saveIncident(incidentOf('open', { value: { said: 'open \ud83d' } }))
      const error = { state: 'sent', error: 'bad gateway \ud83d' }
      store.saveNotification(notificationOf('cut', { incident: 'open', waiting: false, value: error }))
      store.saveNotification(notificationOf('waits', { incident: 'open', channel: 'pager' }))
      await store.flush()

      const found = await store.certain.notifications({ about: 'unfinished', limit: 10 })

      expect(found.map(({ id }) => id)).toEqual(['cut', 'waits'])
      expect(await store.certain.incidents({ limit: 10, partOf: 'none' })).toEqual([])
    })

    test(`${name} that an open incident needs outlive the retention, and so do its notes`, async () => {
      const clock = createFakeClock({ now: BASE })
      const { store } = await open({ clock })
      store.saveIncident(incidentOf('open'))
      store.saveIncident(incidentOf('closed', { closedAt: BASE + 1 }))
      for (const [id, incident] of [
        ['earlier', 'open'],
        ['heard', 'open'],
        ['over', 'closed'],
      ] as const) {
        store.saveNotification(notificationOf(id, { incident, waiting: false, value: { state: 'sent' } }))
        store.saveNote({ id, incident, at: BASE, isPublic: false, text: id })
      }
      await store.flush()

      await clock.advance(RETENTION.hourMs + DAY_MS)
      expect(await store.run('retention', clock.now())).toBe(true)
      // What is far ahead of the clock so far is believed at the second time.
      expect(await store.run('retention', clock.now())).toBe(true)

      const about = { incidents: ['open', 'closed'] }
      expect((await store.notifications({ about, limit: 10 })).map(({ id }) => id)).toEqual(['heard'])
      expect((await store.notes(['open', 'closed'])).map(({ id }) => id)).toEqual(['earlier', 'heard'])
    })
  }

  test('that are damaged hide no others, and end no pass of the retention', () => {
    const bench = benchOn(':memory:', RETENTION, 1_000_000)
    const put = (id: string, json: string, over: Partial<NotificationRecord> = {}): PlacedEvent => {
      const { value: _, ...rest } = notificationOf(id, { waiting: false, incident: 'open', ...over })
      return { after: 0, event: { kind: 'save-notification', notification: { ...rest, json } } }
    }
    const many = Array.from({ length: 20 }, (_, at) => put(`n-${at}`, '{"state":"sent"}', { incident: 'closed' }))
    const events = [
      { after: 0, event: saveIncident('open', 1, false) },
      put('heard', '{"state":"sent"}'),
      put('waits', '{"state":"waiting"}', { channel: 'pager', waiting: true }),
      put('damaged', '{"state":"se', { channel: 'ops' }),
      ...many,
    ]
    bench.writing.write({ polls: new Float64Array(), events })
    const unfinished = () => bench.reading.notifications({ about: 'unfinished', limit: 10 }).map(({ id }) => id)

    expect(unfinished()).toEqual(['heard', 'waits'])
    finish(bench.retainer.pass(BASE + 1000))
    expect(unfinished()).toEqual(['heard', 'waits'])
  })

  test('are at most so many, without what waits or is the last about an open incident', () => {
    const bench = benchOn(':memory:', RETENTION, 1_000_000)
    const put = (id: string, over: Partial<NotificationRecord> = {}): WriteEvent => {
      const { value: _, ...rest } = notificationOf(id, { waiting: false, incident: 'open', ...over })
      return { kind: 'save-notification', notification: { ...rest, json: '{"state":"sent"}' } }
    }
    const many = Array.from({ length: 100 }, (_, at) => put(`n-${at}`, { createdAt: BASE + 10 + at }))
    const events = [
      saveIncident('open', 1, false),
      put('waits', { waiting: true, incident: 'a', createdAt: BASE }),
      put('last', { channel: 'pager', createdAt: BASE + 1 }),
      ...many,
    ]
    bench.writing.write({ polls: new Float64Array(), events: events.map((event) => ({ after: 0, event })) })

    finish(bench.retainer.pass(BASE + 1000))

    const left = bench.reading.notifications({ about: 'latest', limit: 1000 }).map(({ id }) => id)
    expect(left).toEqual(['waits', 'last', ...many.slice(90).map((_, at) => `n-${90 + at}`)])
  })

  test('are deleted with the incidents of their age', () => {
    const bench = benchOn(':memory:', { rawMs: DAY_MS, fiveMinutesMs: DAY_MS, hourMs: 2 * DAY_MS })
    const events = [BASE, BASE + 3 * DAY_MS].map((createdAt, at): PlacedEvent => {
      const { value: _, ...rest } = notificationOf(`n-${at}`, { createdAt })
      return { after: 0, event: { kind: 'save-notification', notification: { ...rest, json: '1' } } }
    })
    bench.writing.write({ polls: new Float64Array(), events })

    finish(bench.retainer.pass(BASE + 3 * DAY_MS))

    expect(bench.reading.notifications({ about: 'latest', limit: 10 }).map(({ id }) => id)).toEqual(['n-1'])
  })

  test('are written with their incident or after it, and never older than written before', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('incident'), of: fc.nat(2), notes: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('update'), of: fc.nat(2), notes: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.constantFrom('full', 'take', 'done') },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const queue = createBatchQueue({ maxRows: 1_000_000 })
        const onDisk = new Map<string, number>()
        const pushed = new Map<string, number>()
        let taken: Batch | null = null
        let version = 0
        const write = () => {
          for (const { event } of taken?.events ?? []) put(event, onDisk)
          if (taken !== null) queue.done()
          taken = null
          for (const [key, at] of onDisk) expect(at).toBeGreaterThanOrEqual(firstOf(key, onDisk))
        }
        for (const next of steps) {
          if (next === 'take') taken = queue.take()
          else if (next === 'done') write()
          else if (next === 'full') for (let row = 0; row < BATCH_ROWS; row++) queue.pushPoll(0, pollOf(row))
          else if (typeof next === 'object') {
            const id = `i${next.of}`
            version++
            if (next.kind === 'incident') {
              queue.pushEvent(saveIncident(id, version, next.notes))
              pushed.set(id, version)
              if (next.notes) pushed.set(`n-${id}`, version)
            } else if (pushed.has(`n-${id}`)) {
              queue.pushEvent({ kind: 'save-notification', notification: noteOf(id, version) })
              pushed.set(`n-${id}`, version)
            }
          }
        }
        write()
        for (taken = queue.take(); taken !== null; taken = queue.take()) write()

        expect(Object.fromEntries(onDisk)).toEqual(Object.fromEntries(pushed))
      }),
    )
  })
})

type PlacedEvent = Batch['events'][number]

const noteOf = (incident: string, version: number) => {
  const { value: _, ...rest } = notificationOf(`n-${incident}`, { incident })
  return { ...rest, json: String(version) }
}

function saveIncident(id: string, version: number, notes: boolean): WriteEvent {
  const { value: _, ...rest } = incidentOf(id)
  const notifications = notes ? [noteOf(id, version)] : []
  return { kind: 'save-incident', incident: { ...rest, json: String(version) }, notifications }
}

/** What SQLite would hold: the latest version of each incident and notification that was written. */
function put(event: WriteEvent, onDisk: Map<string, number>): void {
  const note = ({ id, incident, json }: { id: string; incident: string; json: string }) => {
    expect(onDisk.has(incident), 'its incident is written').toBe(true)
    expect(Number(json)).toBeGreaterThanOrEqual(onDisk.get(id) ?? 0)
    onDisk.set(id, Number(json))
  }
  if (event.kind === 'save-incident') {
    onDisk.set(event.incident.id, Number(event.incident.json))
    event.notifications.forEach(note)
  } else if (event.kind === 'save-notification') note(event.notification)
}

/** No notification is on disk without its incident. */
function firstOf(key: string, onDisk: ReadonlyMap<string, number>): number {
  return key.startsWith('n-') && !onDisk.has(key.slice(2)) ? Number.POSITIVE_INFINITY : 0
}
