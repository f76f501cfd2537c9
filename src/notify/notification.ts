import type { Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { Verdict } from '../core/verdict/condition.ts'

export const MESSAGE_TYPES = [
  'incident.opened',
  'incident.worse',
  'incident.better',
  'incident.repeated',
  'incident.closed',
  'heartline.impaired',
  'heartline.recovered',
  'test',
] as const
export type MessageType = (typeof MESSAGE_TYPES)[number]

/** How an attempt to send ended: `retried` is followed by another attempt, all others are final. */
export const RESULTS = ['sent', 'retried', 'rejected', 'expired'] as const
export type Result = (typeof RESULTS)[number]

/**
 * What a message says about one incident: a copy from the time of the change. `state` is the current one, or the worst
 * that a closed incident reached.
 */
export interface Report extends Omit<Incident, 'changes'> {
  /** The state that the channel heard of last; `null` if it heard nothing yet. */
  readonly previous: Verdict | null
  /** Every bad state that the incident reached. */
  readonly reached: readonly Verdict[]
  /** Whether its endpoints are up again: a flapping one is open for a while then, and one that ended may have for another reason. */
  readonly recovered: boolean
  /** A sentence about the other endpoints of the network, which tells the node's fault from the chain's; see `othersOf`. */
  readonly others: string
}

/** One message about one incident for one channel. Plain data: stored as JSON. */
export interface Notification {
  readonly id: string
  readonly channel: string
  /** Id of the incident, or of a time in which Heartline was impaired. */
  readonly subject: string
  readonly type: MessageType
  /** Notifications of the same request share it; a receiver recognises doubles by it. */
  readonly messageId: string
  readonly createdAt: UnixMs
  /** `superseded`: the channel never needs to hear it, because a later message says more. */
  readonly state: 'waiting' | Exclude<Result, 'retried'> | 'superseded'
  readonly attempts: number
  readonly endedAt: UnixMs | null
  /** Why the latest attempt failed, in words, without secrets. */
  readonly error: string | null
  /** What the channel has heard before this message. */
  readonly before: Heard | null
  /** `null` for messages about Heartline itself. */
  readonly report: Report | null
  /** The closing message also says that it opened, because that message was never sent. */
  readonly saysBoth: boolean
  /** One line about Heartline itself; empty for incidents, whose text is made from the report. */
  readonly text: string
}

/** What a channel knows about an incident. */
export interface Heard {
  readonly open: boolean
  readonly state: Verdict
}

/** What one request tells a channel. All reports share the type. */
export interface Message {
  readonly id: string
  readonly type: MessageType
  /** The incident's id, by which services recognise what belongs together; that of the first in a group. */
  readonly subject: string
  readonly createdAt: UnixMs
  readonly sentAt: UnixMs
  /** Number of earlier attempts to send it. */
  readonly attempts: number
  readonly reports: readonly Report[]
  readonly saysBoth: boolean
  /** Set for messages without reports. */
  readonly text: string
}

export function isClosing(type: MessageType): boolean {
  return type === 'incident.closed' || type === 'heartline.recovered'
}

/**
 * What the subject of a message about Heartline itself says: since when, of which daemon (`null` if it is alone), and for
 * which network its gateway has no endpoint (`null` if it is not about the gateway). `null` for other subjects.
 */
export function ownSubjectOf(subject: string): OwnSubject | null {
  const [, at, network = null, member = null] = OWN_SUBJECT.exec(subject) ?? []
  return at === undefined ? null : { at: Number.parseInt(at, 36), network, member }
}

export interface OwnSubject {
  readonly at: UnixMs
  readonly network: string | null
  readonly member: string | null
}

/** One of them is in every subject of Heartline itself, by which the store finds them. */
export const OWN_MARKS: readonly string[] = ['-heartline', '-gateway']
const OWN_SUBJECT = /^([0-9a-z]{1,10})-(?:heartline|([a-z0-9-]{1,64})-gateway)(?:\.(.+))?$/

/** The state that an open incident is in now, which may be better than the worst one that it reached. */
export function currentState({ state, changes, closedAt }: Incident): Verdict {
  if (closedAt !== null) return state
  return changes.findLast((change) => change.state !== 'up')?.state ?? state
}

export function reportOf(incident: Incident, previous: Verdict | null, others: string): Report {
  const { changes, ...kept } = incident
  const reached = new Set<Verdict>([...changes.map((change) => change.state), incident.state])
  reached.delete('up')
  const recovered = changes.at(-1)?.state === 'up'
  return { ...kept, state: currentState(incident), previous, reached: [...reached], recovered, others }
}
