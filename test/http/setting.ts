import type { Clock } from '../../src/clock.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import type { Silence } from '../../src/core/incident/silence.ts'
import {
  createHttpServer,
  type HttpServer,
  type HttpServerDeps,
  type HttpServerOptions,
} from '../../src/http/server.ts'
import { createMinuteStats } from '../../src/metrics/daemon-history.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { createIncidentLog, type WritableIncidentLog } from '../../src/state/incident-log.ts'
import { createJournal } from '../../src/state/observer-journal.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'
import { endpoint, network } from '../support/network.ts'
import { createWorld, QUIET_STORE, type World, type WorldNetwork } from '../support/world.ts'

export const OWN = endpoint('own-1', {
  title: 'Own node 1',
  network: 'avalanche',
  family: 'avalanche',
  checks: ['liveness', 'head'],
})
export const OTHER: Endpoint = { ...OWN, name: 'own-2', title: 'Own node 2' }
export const NODE = endpoint('node')
export const NETWORKS: readonly WorldNetwork[] = [
  { network: network({ name: 'avalanche', title: 'Avalanche', family: 'avalanche' }), endpoints: [OWN, OTHER] },
  { network: network(), endpoints: [NODE] },
]

export interface Setting {
  readonly server: HttpServer
  readonly world: World
  readonly incidents: WritableIncidentLog
  readonly clock: FakeClock
  readonly log: ReturnType<typeof recordingLog>
}

export interface SettingOptions extends Partial<Omit<HttpServerDeps, 'options' | 'clock' | 'incidents' | 'store'>> {
  readonly options?: Partial<HttpServerOptions>
  readonly store?: Partial<HttpServerDeps['store']>
  readonly networks?: readonly WorldNetwork[]
  readonly realClock?: Clock
}

/** A server over a board that the real poller fills. */
export function setUp({ options, networks = NETWORKS, realClock, store, ...over }: SettingOptions = {}): Setting {
  const fake = createFakeClock()
  const clock = realClock ?? fake
  const world = createWorld(clock, networks)
  const incidents = createIncidentLog()
  const log = recordingLog()
  const metrics = createMetrics({
    board: world.board,
    incidents,
    clock,
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: null }),
    observer: () => ({ impaired: false, judging: true }),
  })
  const server = createHttpServer({
    board: world.board,
    incidents,
    store: {
      history: async () => [],
      polls: async () => [],
      incidents: async () => [],
      incident: async () => null,
      notifications: async () => [],
      notes: async () => [],
      saveNote: () => {},
      flush: async () => {},
      ...store,
    },
    metrics,
    clock,
    log,
    version: '1.2.3',
    ready: () => true,
    stopping: () => false,
    observer: () => ({ impaired: false, judging: true, reasons: [] }),
    journal: createJournal({ clock }),
    recorder: createMinuteStats({
      clock,
      queueRows: () => 0,
      residentBytes: () => 0,
      requests: () => ({ requests: 0, failed: 0 }),
    }),
    sightings: world.sightings,
    inspect: async () => ({ kind: 'no-place' }),
    gateway: () => null,
    cluster: () => null,
    notifier: { status: () => ({ channels: [], waiting: [], heartbeat: null }) },
    silences: createSilences({ clock, log, store: silenceStore() }),
    ...over,
    options: {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      token: null,
      public: true,
      hosts: [],
      maxConnections: 1024,
      grafanaUrl: null,
      publicUrl: () => null,
      publicPage: { title: 'Heartline', logo: null, networks: null },
      ...options,
    },
  })
  return { server, world, incidents, clock: fake, log }
}

/** Has at once what is saved. */
function silenceStore() {
  const saved = new Map<string, Silence>()
  return {
    saveSilence: (silence: Silence) => void saved.set(silence.id, silence),
    silences: async () => [...saved.values()],
  }
}
