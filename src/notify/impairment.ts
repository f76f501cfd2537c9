import type { Clock } from '../clock.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'
import { type Notification, ownSubjectOf } from './notification.ts'
import type { SubjectState } from './subject-state.ts'

/** Trouble that passes within this time is not told. */
const BEGINS_AFTER_MS = 5000
/** Heartline has recovered once it has worked for this long. */
const ENDS_AFTER_MS = 30_000
/** After a suspension, overdue polls are run within an interval, which is nothing to tell. */
const TOLD_LATE_MS = 60_000
const POLLS_LATE = 'polls are late: `poll.concurrency` is too low, or this machine too slow'

/** Follows whether Heartline itself is impaired, and notifies once when that begins and once when it ends. */
export function createImpairmentWatch({ clock, trouble, polls, member }: ImpairmentDeps) {
  const suffix = member === undefined ? '-heartline' : `-heartline.${member}`
  const speaker = member === undefined ? 'Heartline' : `Heartline of ${member}`
  const prefix = `${speaker} ${member === undefined ? 'itself ' : ''}is impaired: `
  let current: Impairment | null = null
  /** Since when it has been otherwise than `current` says (monotonic). */
  let otherwiseSince: number | null = null

  function reasonsNow(): readonly string[] {
    const reasons = trouble()
    return polls().lateMs < TOLD_LATE_MS ? reasons : [...reasons, POLLS_LATE]
  }

  /** Whether nodes are judged, polls are on time, and rows reach the store. */
  function works(): boolean {
    const { firstRoundDone, lateMs } = polls()
    return firstRoundDone && lateMs === 0 && trouble().length === 0
  }

  /** For how long it has been otherwise. */
  function lasted(isOtherwise: boolean): number {
    const mono = clock.monotonic()
    otherwiseSince = isOtherwise ? (otherwiseSince ?? mono) : null
    return otherwiseSince === null ? 0 : mono - otherwiseSince
  }

  return {
    /** Whether a stored notification is about this daemon, not about another one with the same store. */
    isOwn: ({ subject, report }: Notification): boolean => report === null && subject.endsWith(suffix),

    /** Continues an impairment that an earlier run has told; `latest` are the latest notifications about Heartline. */
    restore(latest: readonly Notification[]): void {
      const last = latest.at(-1)
      if (last?.type !== 'heartline.impaired') return
      current = { id: last.subject, at: ownSubjectOf(last.subject)?.at ?? last.createdAt, text: last.text }
    },

    /** `null` unless it has just begun or ended. Call it every second. */
    change(): SubjectState | null {
      const reasons = reasonsNow()
      const now = clock.now()
      if (current === null) {
        const badMs = lasted(reasons.length > 0)
        if (badMs < BEGINS_AFTER_MS) return null
        otherwiseSince = null
        const at = Math.round(now - badMs)
        current = { id: `${at.toString(36)}${suffix}`, at, text: `${prefix}${reasons.join('; ')}` }
        return ownState(current.id, true, current.text)
      }
      const goodMs = lasted(reasons.length === 0 && works())
      if (goodMs < ENDS_AFTER_MS) return null
      otherwiseSince = null
      const { id, at, text } = current
      current = null
      const badFor = humanDuration(Math.max(0, now - goodMs - at))
      const why = text.startsWith(prefix) ? text.slice(prefix.length) : text
      return ownState(id, false, `${speaker} has recovered after ${badFor} (was impaired: ${why})`)
    },

    works,
    current: () => current,
  }
}

/** What a channel is to hear about Heartline itself. */
export function ownState(subject: string, open: boolean, text: string): SubjectState {
  const fixed = { kind: 'heartline', state: 'down', flapping: false, absorbed: false, wanted: true } as const
  return { ...fixed, subject, open, text, report: () => null }
}

export type ImpairmentWatch = ReturnType<typeof createImpairmentWatch>

export interface Impairment {
  readonly id: string
  readonly at: UnixMs
  readonly text: string
}

export interface ImpairmentDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Sentences about what keeps Heartline from judging nodes or storing rows; empty while nothing does. */
  readonly trouble: () => readonly string[]
  /** Its id among several daemons with one store. */
  readonly member?: string | undefined
  readonly polls: () => { readonly firstRoundDone: boolean; readonly lateMs: number }
}
