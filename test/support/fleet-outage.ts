import { type Clock, systemClock } from '../../src/clock.ts'
import { type Endpoint, endpointKey } from '../../src/core/endpoint.ts'
import { locationOf } from '../../src/core/host-location.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { createObserver } from '../../src/core/observer/observer.ts'
import { currentState, type Message, reportOf } from '../../src/notify/notification.ts'
import { Outbox } from '../../src/notify/outbox.ts'
import { createIncidentRecorder } from '../../src/poll/incident-recorder.ts'
import { createPoller } from '../../src/poll/poller.ts'
import { createBoard } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { IncidentRecord } from '../../src/store/store.ts'
import { recordingLog } from './log.ts'
import { bad, endpoint, good, head, network, pollResult } from './network.ts'

const INTERVAL_MS = 15_000
const STARTED_AT = Date.UTC(2026, 0, 1)
const REFUSED = bad({ kind: 'http', status: 503 })

/** How thousands of endpoints are distributed: over hosts, without a provider, or all of one provider. */
export interface FleetShape {
  readonly endpoints: number
  readonly hosts: number
  readonly provider: string | null
}

export interface FleetOutage {
  /** As they are listed: without those that an outage absorbed. */
  readonly listed: readonly Incident[]
  readonly absorbed: number
  /** Writes of incidents to the store, and their size as JSON. */
  readonly saves: number
  readonly savedBytes: number
  readonly messages: readonly Message[]
  readonly errors: number
  /** Processor time of a poll's judgement in µs, by phase. */
  readonly cpuMicros: Readonly<Record<Phase, number>>
}

export type Phase = 'healthy' | 'failing' | 'down' | 'recovering'
type Rounds = readonly (readonly [Phase, number])[]
const ROUNDS: Rounds = [
  ['healthy', 4],
  ['failing', 2],
  ['down', 6],
  ['recovering', 3],
]

/** All endpoints fail within one round of polls, stay down for some, and recover. Real judging, simulated time, no I/O. */
export async function playFleetOutage(
  { endpoints: count, hosts, provider }: FleetShape,
  rounds = ROUNDS,
): Promise<FleetOutage> {
  let now = STARTED_AT
  let phase: Phase = 'healthy'
  const clock: Clock = { ...systemClock, now: () => now, monotonic: () => now - STARTED_AT }
  const endpoints = Array.from({ length: count }, (_, at) => endpoint(`e${at}`, { intervalMs: INTERVAL_MS, provider }))
  const told = new Map<string, Incident>()
  const incidents = createIncidentLog()
  const log = recordingLog()
  const messages: Message[] = []
  const outbox = newOutbox()
  const unstored = new Set<string>()
  const [counts, cpuMicros] = [
    { saves: 0, savedBytes: 0 },
    { healthy: 0, failing: 0, down: 0, recovering: 0 },
  ]
  incidents.subscribe((incident) => told.set(incident.id, incident))

  function notify(incident: Incident) {
    for (const { id } of outbox.changed(changeOf(incident), now, clock.monotonic())) unstored.add(id)
    return []
  }

  function saveIncident({ value }: IncidentRecord): void {
    counts.saves++
    counts.savedBytes += JSON.stringify(value).length
  }

  function send(): void {
    outbox.stored(unstored)
    unstored.clear()
    for (let message = outbox.take(now, clock.monotonic()); message !== null; ) {
      outbox.settle(message, { result: 'sent' }, now, clock.monotonic())
      messages.push(message)
      message = outbox.take(now, clock.monotonic())
    }
  }

  const poller = createPoller({
    prober: { poll: (of) => Promise.resolve(answerOf(of)) },
    observer: createObserver(),
    checkSelf() {},
    board: createBoard(),
    recorder: createIncidentRecorder({ incidents, store: { saveIncident }, log, notify }),
    store: { poll() {}, amend() {}, hashChange() {}, saveHealth() {} },
    metrics: { checkFinished() {} },
    pollSoon() {},
    clock,
    log,
  })

  function answerOf(of: Endpoint) {
    const outcome =
      phase === 'failing' || phase === 'down'
        ? REFUSED
        : good(head(1000 + Math.floor((now - STARTED_AT) / 12_000), now))
    return pollResult(of, now, { heads: [{ shard: null, outcome }] })
  }

  const located = endpoints.map((one, at) => ({
    endpoint: one,
    at: locationOf(`host-${at % hosts}.example.org`),
    origin: `host-${at % hosts}`,
  }))
  poller.configure([{ network: network({ name: 'ethereum' }), endpoints: located }], new Set())
  const keys = endpoints.map(endpointKey)
  const { signal } = new AbortController()
  let roundAt = STARTED_AT
  for (const [of, times] of rounds) {
    phase = of
    const began = process.cpuUsage()
    for (let round = 0; round < times; round++, roundAt += INTERVAL_MS) {
      for (const [at, key] of keys.entries()) {
        now = roundAt + Math.floor((at * INTERVAL_MS) / count)
        await poller.poll(key, signal)
        if (at % 100 === 0) send()
      }
    }
    const { user, system } = process.cpuUsage(began)
    cpuMicros[of] = (user + system) / (times * count)
  }
  now += 60_000
  send()
  const all = [...told.values()]
  const listed = all.filter(({ absorbedBy }) => absorbedBy === null)
  const errors = log.lines.filter(({ level }) => level === 'error').length
  return { listed, absorbed: all.length - listed.length, ...counts, messages, errors, cpuMicros }
}

function newOutbox(): Outbox {
  let last = 0
  const settings = { channel: 'ops', minState: 'degraded', groupWaitMs: 10_000 } as const
  return new Outbox({ settings: () => settings, newId: () => `id-${++last}` })
}

function changeOf(incident: Incident) {
  const { id, closedAt, flapping, absorbedBy } = incident
  const open = closedAt === null
  return {
    subject: id,
    kind: 'incident',
    open,
    state: currentState(incident),
    flapping,
    absorbed: absorbedBy !== null,
    wanted: open,
    text: '',
    report: (previous: Parameters<typeof reportOf>[1]) => reportOf(incident, previous, ''),
  } as const
}
