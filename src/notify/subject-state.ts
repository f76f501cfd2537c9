import { severity, type Verdict } from '../core/verdict/condition.ts'
import type { Heard, MessageType, Report } from './notification.ts'

/** The present state of a subject. */
export interface SubjectState {
  readonly subject: string
  readonly kind: 'incident' | 'heartline'
  readonly open: boolean
  readonly state: Verdict
  /** A flapping incident changes silently while it is open. */
  readonly flapping: boolean
  /** A network-wide incident covers it: no new message, only the end of what was sent before. */
  readonly absorbed: boolean
  /** Whether the channel is to hear of it now; it always hears that something ended of which it has heard. */
  readonly wanted: boolean
  readonly text: string
  readonly report: (previous: Verdict | null) => Report | null
}

/** What to send next, given what the channel has heard; `null` for nothing. */
export function nextStep(
  heard: Heard | null,
  { open, state, flapping, wanted }: Pick<SubjectState, 'open' | 'state' | 'flapping' | 'wanted'>,
  minState: Verdict,
): 'opened' | 'worse' | 'better' | 'closed' | null {
  if (!open) return heard?.open === true ? 'closed' : null
  if (!wanted || severity(state) < severity(minState)) return null
  if (heard?.open !== true) return 'opened'
  if (flapping || heard.state === state) return null
  return severity(state) > severity(heard.state) ? 'worse' : 'better'
}

export function isOpening(type: MessageType): boolean {
  return type === 'incident.opened' || type === 'heartline.impaired'
}

export function typeOf(step: 'opened' | 'worse' | 'better' | 'closed', kind: SubjectState['kind']): MessageType {
  if (kind === 'heartline') return step === 'closed' ? 'heartline.recovered' : 'heartline.impaired'
  return `incident.${step}`
}
