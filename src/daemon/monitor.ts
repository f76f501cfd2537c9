import type { Clock } from '../clock.ts'
import type { Observer } from '../core/observer/observer.ts'
import type { Logger } from '../log.ts'
import type { MinuteStats } from '../metrics/daemon-history.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { createProber } from '../nodes/probe.ts'
import { watchClock } from '../poll/clock-watch.ts'
import type { IncidentRecorderDeps } from '../poll/incident-recorder.ts'
import { createMaintenanceCalendar, endpointsIn, maintainedTimes } from '../poll/maintenance-calendar.ts'
import { createPoller, type PollerDeps } from '../poll/poller.ts'
import { createScheduler } from '../poll/scheduler.ts'
import type { WritableIncidentLog } from '../state/incident-log.ts'
import type { Journal } from '../state/observer-journal.ts'
import { createSightings } from '../state/sightings.ts'
import type { Store } from '../store/store.ts'
import { cpuWaitMs } from './cpu-wait.ts'
import type { Role } from './role.ts'

/** Creates everything that polls, and connects its events. */
export function createMonitor(deps: MonitorDeps) {
  const { clock, log, incidents, observer, journal, store, metrics, minutes, notify, role } = deps
  const { local: board, shown } = role
  const prober = createProber({ clock })
  const sightings = createSightings()
  const clockWatch = watchClock({
    clock,
    onJump(byMs) {
      const direction = byMs > 0 ? 'forward' : 'backward'
      // Rounded, because the measurement is slightly off: a step of one hour is measured as 3599.9 s.
      const seconds = Math.round(byMs / 1000)
      metrics.clockJumped(direction)
      log.warn({ direction, seconds: Math.abs(seconds) }, 'wall clock jumped')
      observer.clockStepped(clock.monotonic(), 1000 * seconds)
      journal.stepped(1000 * seconds)
      poller.shift(byMs)
      sightings.shift(byMs)
    },
    onBlocked(from, to) {
      observer.stalled(from, to)
      minutes.loopBlocked(to - from)
      journal.held(to - from)
    },
    cpuWaitMs,
    onCpuWait: observer.cpuWaited,
  })
  const poller = createPoller({
    ...deps,
    board,
    recorder: role.recorder({ incidents, store, log, notify }),
    owns: role.polls,
    prober,
    checkSelf: () => clockWatch.check(),
    onJudged: (result) => sightings.take(result),
    pollSoon: (key, suspect) => scheduler.pollSoon(key, suspect),
  })
  const scheduler = createScheduler({
    clock,
    concurrency: deps.concurrency,
    run: (key, signal) => poller.poll(key, signal),
    onLag(ms) {
      metrics.schedulerLag(ms)
      minutes.pollLate(ms)
    },
    onSkip(_key, reason, count) {
      metrics.schedulerSkipped(reason, count)
      minutes.pollsSkipped(reason, count)
    },
  })
  const calendar = createMaintenanceCalendar({
    clock,
    log,
    onChange(periods) {
      const now = clock.now()
      // A maintenance window may name endpoints that only some of its networks have.
      const ours = periods.filter((period) => endpointsIn(period, board).length > 0)
      board.putMaintenance(ours)
      if (shown !== board) shown.putMaintenance(ours)
      store.maintain(maintainedTimes(ours, board, now), now)
    },
  })
  return {
    prober,
    sightings,
    poller,
    scheduler,
    calendar,

    /** No new poll starts; resolves when the running ones are aborted, and connections to nodes are closed. */
    async stop(): Promise<void> {
      clockWatch.stop()
      calendar.stop()
      await scheduler.stop()
      prober.close()
    },
  }
}

export interface MonitorDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly role: Role
  readonly incidents: WritableIncidentLog
  readonly observer: Observer
  readonly journal: Journal
  readonly store: Store
  readonly metrics: Metrics
  readonly minutes: MinuteStats
  readonly notify: IncidentRecorderDeps['notify']
  readonly concurrency: number
  readonly onChainEvent: NonNullable<PollerDeps['onChainEvent']>
}
