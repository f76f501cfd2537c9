import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { paceOf } from '../../grafana/pace.ts'
import { prometheusRules } from '../../grafana/prometheus-rules.ts'
import { systemClock } from '../../src/clock.ts'
import { until } from '../support/daemon.ts'
import { mayMount } from '../support/mount.ts'
import { requirePackage } from '../support/system-package.ts'
import { DISK_FAULTS, FAULTS, type Fault, LAST_FAULTS, OWN_FAULTS } from './faults.ts'
import { everySecond, type Prometheus, startPrometheus } from './prometheus.ts'
import { filledIn, keptDashboards } from './queries.ts'
import { type Rehearsal, startRehearsal } from './rehearsal.ts'

const hasPrometheus = requirePackage('prometheus', 'prometheus')
const hasDisk = hasPrometheus && mayMount()
/**
 * Ten seconds per hour, but nothing shorter than Prometheus can see. After a failed scrape, the `for` of every alert starts
 * again: on a busy machine ten in a row do not all succeed.
 */
const PACE = { ...paceOf(360), hold: paceOf(3600).hold }
/** Those of several daemons need a database server: test/grafana/rules.test.ts fires them. */
const isOfOne = ({ name }: { readonly name: string }) => name !== 'heartline-cluster'
const ALL_ALERTS = alertGroups()
  .filter(isOfOne)
  .flatMap(({ alerts }) => alerts.map(({ name }) => name))
/** For busy machines: elsewhere everything happens within seconds. */
const PATIENCE_MS = 180_000
/** A daemon without CPU judges no endpoint: this long is waited for what only a daemon that judges can find. */
const LONGEST_MS = 540_000
const LONG = 1_200_000

const SCRAPES = 'min(count_over_time(heartline_build_info[1h]))'

const ofOneDaemon = () => keptDashboards().filter(({ file }) => file !== 'cluster.json')

type Labels = Readonly<Record<string, string>>

let rehearsal: Rehearsal
let prometheus: Prometheus
let watching: Promise<void>
const closing = new AbortController()
/** Alerts that fire now, and all that ever fired. */
let firing: readonly Labels[] | null = null
const everFired: Labels[] = []
let lookedAt = 0
/** For how long both daemons have been judging. */
let judgedMs = 0
const blamed: Labels[] = []
const proven = new Set<string>()
let beganAt = 0

describe.skipIf(!hasPrometheus)('a real Prometheus with the rules and two daemons', () => {
  beforeAll(async () => {
    rehearsal = await startRehearsal({ disk: hasDisk })
    beganAt = systemClock.now()
    prometheus = await startPrometheus({
      files: {
        'prometheus.yml': everySecond(rehearsal.targets),
        'heartline.rules.yml': prometheusRules(alertGroups(PACE)),
      },
    })
    await until(
      async () => (await prometheus.query('heartline_endpoint_up == 1')).length >= 75,
      'nearly all are up',
      LONGEST_MS,
    )
    watching = watch()
  }, LONG)

  afterAll(async () => {
    closing.abort()
    await watching
    await prometheus?.stop()
    await rehearsal?.stop()
  }, LONG)

  test(
    'nothing fires while all is healthy',
    async () => {
      const scrapes = async () => Number((await prometheus.query(SCRAPES))[0]?.value[1] ?? 0)
      let from = await scrapes()
      // Alerts right after the start, or because of an overloaded machine, are correct: wait until they are over.
      const isQuiet = async () => {
        const now = await scrapes()
        if (firing === null || firing.length > 0 || (await rehearsal.second.isToldImpaired())) from = now
        return now >= from + 12
      }

      await until(isQuiet, 'twelve scrapes in a row without an alert', LONGEST_MS)

      everFired.length = 0
    },
    LONG,
  )

  test(
    'every fault fires its alert, and the alert ends when the fault is over',
    async () => {
      const ofSecond = hasDisk ? [...OWN_FAULTS, ...DISK_FAULTS] : OWN_FAULTS

      const failuresOf = (faults: readonly Fault[]) => Promise.all(faults.map(failureOf))
      const failures = await Promise.all([
        failuresOf(FAULTS),
        failuresOf(ofSecond).then(async (own) => [...own, ...(await failuresOf(LAST_FAULTS))]),
      ])

      expect(failures.flat().filter((failure) => failure !== null)).toEqual([])
      const unproven = ALL_ALERTS.filter((name) => !proven.has(name))
      console.log(`alerts proven: ${proven.size} of ${ALL_ALERTS.length}`)
      expect(unproven).toEqual(hasDisk ? [] : DISK_FAULTS.flatMap(({ alerts }) => alerts))
    },
    LONG,
  )

  test('no node is blamed for a halted chain, or while Heartline itself is impaired', () => {
    expect(blamed).toEqual([])
  })

  test(
    'every panel of every dashboard has had data',
    async () => {
      const empty = new Map<string, string>()
      for (const { file, panels } of ofOneDaemon()) {
        for (const { title, targets } of panels) {
          for (const { refId, expr } of targets) {
            empty.set(`${file}: ${title} ${refId}`, filledIn(expr, { rateInterval: '10s', range: '1m' }))
          }
        }
      }
      const all = empty.size
      const noted = async () => {
        for (const [place, query] of empty) if (await prometheus.hasHadData(query, beganAt)) empty.delete(place)
        return empty.size === 0
      }

      await until(noted, 'all panels', 90_000).catch(() => null)

      console.log(`queries of panels with data: ${all - empty.size} of ${all}`)
      expect([...empty.keys()]).toEqual([])
    },
    LONG,
  )
})

/** What one fault shows may explain another. */
async function failureOf(fault: Fault): Promise<string | null> {
  return prove(fault).then(
    () => null,
    (error: Error) => error.message,
  )
}

/** Checks that the alerts of a fault do not fire before it, fire during it, and end after it. */
async function prove({ what, alerts, where, silences: blamesNobody, inject, heal }: Fault): Promise<void> {
  const [first, second] = rehearsal.targets
  const own = Object.keys(where).length === 0
  const labels = { ...where, instance: own ? second : first }
  const isOf = (alert: Labels, name: string) => has(alert, { ...labels, alertname: name })

  const began = performance.now()
  await inject(rehearsal)
  const heard = (name: string) => everFired.some((alert) => isOf(alert, name))
  await untilJudged(() => alerts.every(heard), `${what}: ${alerts.join(', ')}`).catch(async (error: unknown) => {
    const missing = alerts.filter((name) => !heard(name)).join(', ')
    const lookedAgo = `${((performance.now() - lookedAt) / 1000).toFixed(1)} s ago`
    const says = [...new Set((await prometheus.query('ALERTS')).map(({ metric }) => metric['alertname']))].join(', ')
    const about = `${await scrapesSince(began)}; last look ${lookedAgo}; Prometheus has: ${says}`
    throw new Error(`${what}: not heard of: ${missing} (${about})`, { cause: error })
  })
  if (blamesNobody !== undefined) blamed.push(...everFired.filter((alert) => has(alert, blamesNobody)))
  await heal(rehearsal)
  const lasting = () => alerts.filter((name) => firing?.some((alert) => isOf(alert, name)))
  await untilJudged(() => lasting().length === 0, what).catch((error: unknown) => {
    throw new Error(`${what}: still heard of: ${lasting().join(', ')}`, { cause: error })
  })
  for (const name of alerts) proven.add(name)
}

async function untilJudged(holds: () => boolean, what: string): Promise<void> {
  const end = judgedMs + PATIENCE_MS
  await until(() => holds() || judgedMs > end, what, LONGEST_MS)
  if (!holds()) throw new Error(`not within ${PATIENCE_MS} ms of judging: ${what}`)
}

/** After a failed scrape, the `for` of every alert starts again; a daemon without CPU judges no endpoint. */
async function scrapesSince(began: number): Promise<string> {
  const range = `[${Math.round((performance.now() - began) / 1000)}s]`
  const told = async (of: string, series: string) =>
    (await prometheus.query(`${of}(${series}${range})`)).map(({ value }) => value[1]).join(' and ')
  const answered = await told('sum_over_time', 'up')
  const judging = await told('avg_over_time', 'heartline_observer_judging')
  return `scrapes of the daemons: ${await told('count_over_time', 'up')}, answered: ${answered}, judging: ${judging}`
}

function has(alert: Labels, labels: Labels): boolean {
  return Object.entries(labels).every(([label, value]) => alert[label] === value)
}

/** Watches firing alerts. */
async function watch(): Promise<void> {
  while (!closing.signal.aborted) {
    const now = (await prometheus.query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric)
    for (const alert of now) {
      const text = JSON.stringify(alert)
      if (!everFired.some((known) => JSON.stringify(known) === text)) everFired.push(alert)
    }
    firing = now
    const judging = await prometheus.query('heartline_observer_judging == 1')
    if (lookedAt > 0 && judging.length === rehearsal.targets.length)
      judgedMs += Math.min(1000, performance.now() - lookedAt)
    lookedAt = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
