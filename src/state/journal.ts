import type { Clock } from '../clock.ts'
import { MIN_STALL_MS } from '../core/observer/observer.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'

/** What happened to Heartline itself and its machine, in the order of time: where a history has a gap, it tells why. */
export interface Journal {
  /** `lastHeardOf`: when an earlier run last wrote; 0 where there was none. */
  started(lastHeardOf: UnixMs): void
  /** Nothing of ours ran for so long, until now. */
  held(ms: number): void
  /** The machine's clock was set, just now. */
  stepped(byMs: number): void
  reloaded(endpoints: number): void
  reloadRefused(): void
  /** Troubles that hold now, in words; each is one entry from when it is first told until it is told no more. */
  troubles(now: readonly string[]): void
  /** The newest first. */
  entries(): readonly JournalEntry[]
}

export interface JournalEntry {
  readonly kind: JournalKind
  readonly from: UnixMs
  /** `null` while it holds; the same as `from` of what takes no time. */
  readonly until: UnixMs | null
  readonly text: string
}

export const JOURNAL_KINDS = ['start', 'absence', 'hold', 'clock', 'trouble', 'reload', 'refusal'] as const
export type JournalKind = (typeof JOURNAL_KINDS)[number]

/** Of a machine whose clock is set all day the latest are enough. */
const MOST = 200

export function createJournal({ clock }: { readonly clock: Pick<Clock, 'now'> }): Journal {
  let past: JournalEntry[] = []
  const holding = new Map<string, UnixMs>()

  function note(entry: JournalEntry): void {
    past = [...past, entry].slice(-MOST)
  }

  function noteNow(kind: JournalKind, text: string): void {
    const at = clock.now()
    note({ kind, from: at, until: at, text })
  }

  return {
    started(lastHeardOf) {
      const at = clock.now()
      const missedMs = at - lastHeardOf
      if (lastHeardOf > 0 && missedMs > 0) {
        note({
          kind: 'absence',
          from: lastHeardOf,
          until: at,
          text: `Heartline did not run for about ${humanDuration(missedMs)}`,
        })
      }
      noteNow('start', 'Heartline started')
    },

    held(ms) {
      if (ms < MIN_STALL_MS) return
      const until = clock.now()
      note({ kind: 'hold', from: until - ms, until, text: `this process stood still for ${humanDuration(ms)}` })
    },

    stepped: (byMs) =>
      noteNow(
        'clock',
        `this machine's clock was set ${byMs > 0 ? 'forward' : 'back'} by ${humanDuration(Math.abs(byMs))}`,
      ),

    reloaded: (endpoints) => noteNow('reload', `the configuration was loaded again: ${endpoints} endpoints`),
    reloadRefused: () => noteNow('refusal', 'a configuration with mistakes was refused; the one before stays in force'),

    troubles(now) {
      const at = clock.now()
      for (const [text, from] of holding) {
        if (now.includes(text)) continue
        holding.delete(text)
        note({ kind: 'trouble', from, until: Math.max(from, at), text })
      }
      for (const text of now) if (!holding.has(text)) holding.set(text, at)
    },

    entries() {
      const open = [...holding].map(([text, from]) => ({ kind: 'trouble', from, until: null, text }) as const)
      return [...past, ...open].sort((a, b) => b.from - a.from)
    },
  }
}
