import type { IncidentChangeView, IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import { count, duration, latency } from './format.ts'

/** Sentences and labels of the list of incidents and of the page of one. */
export const INCIDENT_WORDS = {
  title: 'Incidents',
  which: 'Which incidents',
  all: 'All',
  open: 'Open',
  closed: 'Closed',
  network: 'Network',
  endpoint: 'Endpoint',
  older: 'Older ones',
  newest: 'To the newest',
  none: 'No incident is like that.',
  calm: 'Nothing went wrong yet, as far as is known.',
  ofDay: (many: number) => `${many} ${many === 1 ? 'incident' : 'incidents'}`,
  stillOpen: 'still open',
  lasts: 'for',
  lasted: (text: string) => `lasted ${text}`,
  flapping: (flaps: number) => `flapping, ${count(flaps)} times`,
  wholeNetwork: 'whole network',
  partOf: 'A part of the incident of the whole network',
  facts: 'In short',
  opened: { endpoint: 'First bad poll', network: 'Last block before it' },
  confirmed: 'Confirmed',
  over: { endpoint: 'First good poll', network: 'Next block' },
  after: (text: string) => `${text} later`,
  duration: 'Duration',
  until: 'until now',
  worst: 'At its worst',
  flaps: 'Well and ill again',
  times: (many: number) => (many === 1 ? 'once' : `${count(many)} times`),
  id: 'Permanent address',
  conditions: 'Why',
  noChange: 'no change of state',
  holds: 'holds',
  often: (times: number, text: string) => `${times} times, ${text} in all, the last one`,
  course: 'Before, during and after',
  lag: 'Lag',
  height: 'Height',
  latency: 'Latency p95',
  heartbeat: 'Heartbeat lag',
  locked: 'Heights, lags and latencies take the token.',
  away: 'No history of that time can be read.',
  moreCourses: (many: number) => `Of ${many} more endpoints that showed it no charts are drawn here.`,
  changes: 'What happened',
  confirmedHere: 'Confirmed: this many polls in a row say so',
  began: 'began',
  ended: 'ended',
  moreSamples: (many: number) => `and ${many} more`,
  affected: 'Endpoints that showed it',
  parts: 'Incidents that are a part of it',
  postMortem: 'Post-mortem',
  copy: 'Copy',
  copied: 'Copied',
  asFile: 'As a text of its own',
  atHead: 'at the head',
  noAnswer: (height: string | null) => (height === null ? 'no answer' : `no answer, height ${height} was seen last`),
}

/** As a story of its time: `is down: connection refused`, and once it is over `was down`. */
export function storySentence({ cause, state, closed_at: closedAt, conditions }: IncidentSummaryView): string {
  const verb = closedAt === null ? 'is' : 'was'
  const holding = conditions.filter(({ until }) => until === null)
  const main =
    holding.find((condition) => condition.state === state) ??
    holding[0] ??
    conditions.find((condition) => condition.state === state) ??
    conditions[0]
  const why = main === undefined ? '' : `: ${main.message}`
  if (cause !== 'endpoint') return `${verb} ${cause}${why}`
  return `${verb} ${state}${why}`
}

/** What a change came to: `down: unreachable`, `up`. */
export function changeSentence({ state, codes }: IncidentChangeView): string {
  return codes.length === 0 ? state : `${state}: ${codes.join(', ')}`
}

/** What was measured: `height 1,234, 12 blocks behind, 34 ms`. */
export function sampleSentence(sample: IncidentChangeView['samples'][number]): string {
  const { height, lag_blocks: lag, latency_seconds: seconds } = sample
  // Without an answer the height is the one that it had last, and its lag is nobody's.
  if (seconds === null) return INCIDENT_WORDS.noAnswer(height === null ? null : count(height))
  const facts = [
    ...(height === null ? [] : [`height ${count(height)}`]),
    ...(lag === null ? [] : [lag === 0 ? INCIDENT_WORDS.atHead : blocksBehind(lag)]),
    latency(seconds),
  ]
  return facts.join(', ')
}

function blocksBehind(lag: number): string {
  return `${blocks(lag)} behind`
}

export function blocks(many: number): string {
  return `${count(many)} ${many === 1 ? 'block' : 'blocks'}`
}

/** `+2 min 3 s`. */
export function offset(seconds: number): string {
  return seconds < 1 ? '0 s' : `+${duration(Math.round(seconds))}`
}
