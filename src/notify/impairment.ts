import type { Clock } from '../clock.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'
import type { Notification } from './notification.ts'
import type { Change } from './outbox.ts'

/** Follows whether Heartline itself is impaired, and notifies once when that begins and once when it ends. */
export function createImpairmentWatch({ clock, impaired, works }: ImpairmentDeps) {
  let current: { readonly id: string; readonly at: UnixMs; readonly reasons: readonly string[] } | null = null

  function changeOf(id: string, open: boolean, text: string): Change {
    const fixed = { kind: 'heartline', state: 'down', flapping: false, absorbed: false, wanted: true } as const
    return { ...fixed, subject: id, open, text, report: () => null }
  }

  return {
    /** Continues an impairment that an earlier run has told; `latest` are the latest notifications about Heartline. */
    restore(latest: readonly Notification[]): void {
      const last = latest.at(-1)
      if (last?.type !== 'heartline.impaired') return
      current = { id: last.subject, at: last.createdAt, reasons: ['it was stopped meanwhile'] }
    },

    /** `null` unless it has just begun or ended. */
    change(): Change | null {
      const reasons = impaired()
      const now = clock.now()
      if (current === null) {
        if (reasons.length === 0) return null
        current = { id: `${now.toString(36)}-heartline`, at: now, reasons }
        return changeOf(current.id, true, `Heartline itself is impaired and cannot judge nodes: ${reasons.join('; ')}`)
      }
      if (reasons.length > 0 || !works()) return null
      const { id, at, reasons: why } = current
      current = null
      const lasted = humanDuration(Math.max(0, now - at))
      return changeOf(id, false, `Heartline has recovered after ${lasted} (was impaired: ${why.join('; ')})`)
    },

    current: () => current,
  }
}

export interface ImpairmentDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly impaired: () => readonly string[]
  readonly works: () => boolean
}
