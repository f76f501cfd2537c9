import type { Clock } from '../clock.ts'
import { MIN_STALL_MS } from '../core/observer/observer.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'

export type Journal = ReturnType<typeof createJournal>

export interface JournalEntry {
  readonly kind: JournalKind
  readonly from: UnixMs
  /** `null` while it lasts; equal to `from` for an event without duration. */
  readonly until: UnixMs | null
  readonly text: string
}

export const JOURNAL_KINDS = ['start', 'absence', 'hold', 'clock', 'trouble', 'reload', 'refusal'] as const
export type JournalKind = (typeof JOURNAL_KINDS)[number]

/** Bounds the entries on a machine whose clock is set all day. */
const MAX_ENTRIES = 200

/** Records what happened to Heartline and its machine, in the order of time, to explain gaps in the history. */
export function createJournal({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
  let past: JournalEntry[] = []
  const current = new Map<string, UnixMs>()

  function note(entry: JournalEntry): void {
    past = [...past, entry].slice(-MAX_ENTRIES)
  }

  function noteNow(kind: JournalKind, text: string): void {
    const at = clock.now()
    note({ kind, from: at, until: at, text })
  }

  return {
    /** `lastWriteAt`: when an earlier run last wrote; 0 if there was none. */
    started(lastWriteAt: UnixMs): void {
      const at = clock.now()
      const missedMs = at - lastWriteAt
      if (lastWriteAt > 0 && missedMs > 0) {
        note({
          kind: 'absence',
          from: lastWriteAt,
          until: at,
          text: `Heartline did not run for about ${humanDuration(missedMs)}`,
        })
      }
      noteNow('start', 'Heartline started')
    },

    /** The process was suspended or blocked for this long, until now. */
    held(ms: number): void {
      if (ms < MIN_STALL_MS) return
      const until = clock.now()
      note({ kind: 'hold', from: until - ms, until, text: `this process stood still for ${humanDuration(ms)}` })
    },

    stepped: (byMs: number): void =>
      noteNow(
        'clock',
        `this machine's clock was set ${byMs > 0 ? 'forward' : 'back'} by ${humanDuration(Math.abs(byMs))}`,
      ),

    reloaded: (endpoints: number): void => noteNow('reload', `the configuration was reloaded: ${endpoints} endpoints`),
    reloadRefused: (): void =>
      noteNow('refusal', 'a configuration with errors was rejected; the previous one stays in force'),

    /** Sets all current troubles, as text; each trouble is one entry that lasts until a call without it. */
    troubles(now: readonly string[]): void {
      const at = clock.now()
      for (const [text, from] of current) {
        if (now.includes(text)) continue
        current.delete(text)
        note({ kind: 'trouble', from, until: Math.max(from, at), text })
      }
      for (const text of now) if (!current.has(text)) current.set(text, at)
    },

    /** Newest first. */
    entries(): readonly JournalEntry[] {
      const open = [...current].map(([text, from]) => ({ kind: 'trouble', from, until: null, text }) as const)
      return [...past, ...open].sort((a, b) => b.from - a.from)
    },
  }
}
