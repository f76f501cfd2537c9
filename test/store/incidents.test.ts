import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listText } from '../../src/store/sqlite/record-queries.ts'
import type { IncidentQuery, IncidentRecord } from '../../src/store/store.ts'
import type { WriteEvent } from '../../src/store/write-events.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import {
  BASE,
  type Bench,
  batchOf,
  benchOn,
  DAY_MS,
  finish,
  HOLD_MS,
  HOUR_MS,
  opened,
  pollOf,
  RETENTION,
  temporaryDirectory,
} from './setting.ts'

function incidentOf(id: string, wanted: Partial<IncidentRecord> = {}): IncidentRecord {
  return {
    id,
    network: 'ethereum',
    endpoint: 'own-1',
    openedAt: BASE,
    closedAt: null,
    absorbed: false,
    value: { id, said: 'down', 'with a quote': "'" },
    ...wanted,
  }
}

interface Value {
  readonly cause: string
  readonly affected: readonly string[]
  readonly conditions: readonly { readonly code: string }[]
}

function saved({ value, ...incident }: IncidentRecord): WriteEvent {
  return { kind: 'save-incident', incident: { ...incident, json: JSON.stringify(value) }, notifications: [] }
}

function put(bench: Bench, ...incidents: IncidentRecord[]): void {
  bench.writing.write(batchOf([], incidents.map(saved)))
}

const idsOf = (bench: Bench, query: IncidentQuery) => bench.reading.incidents(query).map(({ id }) => id)

const engines = everyEngine()

describe('incidents', () => {
  for (const { name, open } of engines) {
    test(`${name} are returned as they were saved last, with the polls and the health saved with them`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE + HOUR_MS }) })
      store.register([{ endpoint: 'ethereum/own-1', holdMs: HOLD_MS }], BASE)

      store.poll(pollOf(BASE, { state: 'down' }))
      store.saveHealth({ endpoint: 'ethereum/own-1', at: BASE, value: 1 })
      store.saveIncident(incidentOf('a', { value: 'first' }))
      store.saveIncident(incidentOf('b', { openedAt: BASE + 1, endpoint: null, value: ['network-wide'] }))
      await store.flush()
      store.saveIncident(incidentOf('a', { closedAt: BASE + 5000, value: { closed: true } }))
      store.saveIncident(incidentOf('c', { openedAt: BASE + 2, absorbed: true }))
      await store.flush()

      expect(await store.incidents({ limit: 10 })).toEqual([
        incidentOf('b', { openedAt: BASE + 1, endpoint: null, value: ['network-wide'] }),
        incidentOf('a', { closedAt: BASE + 5000, value: { closed: true } }),
      ])
      expect(await store.incidents({ limit: 10, open: true })).toHaveLength(1)
      expect(await store.incident('c')).toEqual(incidentOf('c', { openedAt: BASE + 2, absorbed: true }))
      expect(await store.incident("c' OR 1")).toBeNull()
      expect(await store.incident('c\0')).toBeNull()
      expect(await store.savedHealth()).toHaveLength(1)
    })
  }

  test('of half a megabyte survive a restart', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const first = await opened({ path })
    const large = incidentOf('large', { value: { text: 'é\u0000"\ud800'.repeat(80_000) } })

    first.store.saveIncident(large)
    await first.store.close()

    const { store } = await opened({ path })
    expect(await store.incident('large')).toEqual(large)
    expect(await store.incidents({ limit: 1 })).toEqual([large])
  })

  for (const { name, bench } of engines.filter((engine) => engine.name !== 'on disk')) {
    test(`${name} are found by every filter, newest first and page by page, like in a plain list`, async () => {
      const parts = await bench()
      const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
      const network = fc.constantFrom('ethereum', 'avalanche')
      const endpoint = fc.constantFrom('own-1', 'own-2')
      const time = fc.nat(20)
      const incidents = fc.array(
        fc.record({
          network,
          endpoint: fc.option(endpoint, { nil: null }),
          cause: fc.constantFrom('outage', 'halted'),
          affected: fc.subarray(['own-1', 'own-2']),
          openedAt: time,
          lastsMs: fc.option(fc.integer({ min: 1, max: 10 }), { nil: null }),
          absorbed: fc.boolean(),
          conditions: fc.array(
            fc.record({
              code: fc.constantFrom('lagging', 'slow', 'slower'),
              message: fc.constantFrom('', '"code":"slow"', '{"code":"lagging"}'),
            }),
            { maxLength: 2 },
          ),
        }),
        { maxLength: 40 },
      )
      const asked = fc.record({
        network: maybe(network),
        endpoint: maybe(endpoint),
        open: maybe(fc.boolean()),
        condition: maybe(fc.constantFrom('lagging', 'slow')),
        during: maybe(fc.tuple(time, time).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))),
      })
      await fc.assert(
        fc.asyncProperty(incidents, asked, fc.integer({ min: 1, max: 7 }), async (list, filter, limit) => {
          await parts.clear()
          const records = list.map(({ lastsMs, cause, affected, conditions, ...incident }, at) =>
            incidentOf(`id-${(at * 7) % 41}`, {
              ...incident,
              value: {
                ...(incident.endpoint === null ? { cause, affected } : { cause: 'endpoint', affected: [] }),
                conditions,
              },
              closedAt: lastsMs === null ? null : incident.openedAt + lastsMs,
            }),
          )
          await parts.write(batchOf([], records.map(saved)))
          const { during } = filter
          const isOf = ({ endpoint, value }: IncidentRecord, name: string) => {
            const { cause, affected } = value as Value
            return endpoint === name || (cause === 'outage' && affected.includes(name))
          }
          const expected = records
            .filter(
              (record) =>
                !record.absorbed &&
                (filter.network === undefined || record.network === filter.network) &&
                (filter.endpoint === undefined || isOf(record, filter.endpoint)) &&
                (filter.condition === undefined ||
                  (record.value as Value).conditions.some(({ code }) => code === filter.condition)) &&
                (filter.open === undefined || (record.closedAt === null) === filter.open) &&
                (during === undefined ||
                  (record.openedAt < during.to && (record.closedAt ?? Number.POSITIVE_INFINITY) > during.from)),
            )
            .sort((a, b) => b.openedAt - a.openedAt || (a.id < b.id ? 1 : -1))
          const query = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

          const found: string[] = []
          let after: { openedAt: number; id: string } | undefined
          for (;;) {
            const page = await parts.read.incidents({ ...query, limit, ...(after === undefined ? {} : { after }) })
            expect(page.length).toBeLessThanOrEqual(limit)
            found.push(...page.map(({ id }) => id))
            const last = page.at(-1)
            if (last === undefined) break
            after = { id: last.id, openedAt: last.openedAt }
          }

          expect(found).toEqual(expected.map(({ id }) => id))
        }),
        { numRuns: name === 'in PostgreSQL' ? 40 : 150 },
      )
    })
  }

  test('are read along an index with every filtered column: nothing is sorted, and no large value is read', () => {
    const { db } = benchOn()
    const after = { openedAt: 5, id: 'x' }
    const byEndpoint = 'incidents_by_endpoint (network=? AND endpoint=? AND (opened_ms,id)<(?,?))'

    for (const [query, index] of [
      [{}, 'incidents_by_time'],
      [{ after }, 'incidents_by_time ((opened_ms,id)<(?,?))'],
      [{ network: 'a' }, 'incidents_by_network (network=?'],
      [{ network: 'a', endpoint: 'b', after }, `MERGE (UNION ALL) LEFT SEARCH incidents USING INDEX ${byEndpoint}`],
      [{ network: 'a', endpoint: 'b', after }, `RIGHT SEARCH incidents USING INDEX ${byEndpoint}`],
      [{ open: true }, 'incidents_open'],
      [{ condition: 'lagging' }, 'incidents_by_time'],
      [{ during: { from: 1, to: 2 }, after }, 'incidents_by_time'],
    ] as const) {
      const values = { network: '', endpoint: '', afterMs: 5, afterId: 'x', code: '', from: 1, to: 2, limit: 9 }
      const steps = db.prepare(`EXPLAIN QUERY PLAN ${listText({ ...query, limit: 9 })}`).all(values)
      const plan = steps.map((row) => (row as { detail: string }).detail).join(' ')
      expect(plan).toContain(index)
      expect(plan).not.toContain('TEMP B-TREE')
    }
  })

  for (const { name, open } of engines) {
    test(`${name} that are part of another are found only through that one`, async () => {
      const { store } = await open()
      store.saveIncident(incidentOf('whole', { endpoint: null }))
      store.saveIncident(incidentOf('part', { openedAt: BASE + 1, absorbed: true, value: { absorbedBy: 'whole' } }))
      store.saveIncident(incidentOf('of-another', { absorbed: true, value: { absorbedBy: "who'le" } }))
      await store.flush()
      const idsOf = async (query: IncidentQuery) => (await store.incidents(query)).map(({ id }) => id)

      expect(await idsOf({ limit: 9, partOf: 'whole' })).toEqual(['part'])
      expect(await idsOf({ limit: 9, partOf: "who'le" })).toEqual(['of-another'])
      expect(await idsOf({ limit: 9 })).toEqual(['whole'])
    })
  }

  test('are deleted with the hours when they are closed, and never when they are open', () => {
    const bench = benchOn()
    const now = BASE + 3 * RETENTION.hourMs
    const old = now - RETENTION.hourMs - 1
    put(
      bench,
      ...Array.from({ length: 120 }, (_, at) =>
        incidentOf(`old-${at}`, { closedAt: old - at, absorbed: at % 2 === 0 }),
      ),
      incidentOf('kept', { openedAt: BASE, closedAt: old + 2 }),
      incidentOf('open', { openedAt: BASE - 10 * RETENTION.hourMs }),
    )

    finish(bench.retainer.pass(now))

    expect(idsOf(bench, { limit: 1000 })).toEqual(['kept', 'open'])
    expect(bench.db.prepare('SELECT count(*) FROM incidents').pluck().get()).toBe(2)
  })

  test('are not deleted while a clock that is years ahead is doubted', () => {
    const bench = benchOn()
    put(bench, incidentOf('old', { closedAt: BASE + 1 }))
    finish(bench.retainer.pass(BASE + DAY_MS))

    finish(bench.retainer.pass(BASE + 5 * RETENTION.hourMs))

    expect(idsOf(bench, { limit: 9 })).toEqual(['old'])
  })
})
