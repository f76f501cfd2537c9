import type { IncidentChangeView, IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import { blocks, count, duration, latency } from '../format.ts'

/** Labels and sentences of the incident list and the incident page. */
export const INCIDENT_WORDS = {
  title: 'Incidents',
  filters: 'Filter incidents',
  all: 'All',
  open: 'Open',
  closed: 'Closed',
  network: 'Network',
  endpoint: 'Endpoint',
  time: 'Time',
  ranges: { '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days', '90d': 'Last 90 days' },
  from: 'From',
  to: 'to',
  showTime: 'Show',
  condition: 'Condition',
  older: 'Older',
  newest: 'Newest',
  none: 'No matching incidents.',
  calm: 'No incidents recorded.',
  ofDay: (many: number) => `${many} ${many === 1 ? 'incident' : 'incidents'}`,
  stillOpen: 'still open',
  notYet: 'not yet',
  lasts: 'for',
  lasted: (text: string) => `lasted ${text}`,
  scopes: {
    endpoint: '',
    host: 'endpoints of one host',
    provider: 'endpoints of one provider',
    network: 'whole network',
  } satisfies Record<IncidentSummaryView['scope'], string>,
  partOf: 'Part of a larger incident',
  facts: 'Summary',
  opened: {
    endpoint: 'First failed poll',
    outage: 'First failed poll',
    halted: 'Last block before',
    forked: 'First detected',
  } satisfies Record<IncidentSummaryView['cause'], string>,
  confirmed: 'Confirmed',
  over: {
    endpoint: 'Recovered',
    outage: 'Recovered',
    halted: 'Next block',
    forked: 'Resolved',
  } satisfies Record<IncidentSummaryView['cause'], string>,
  unmonitored: 'No longer monitored',
  duration: 'Duration',
  until: 'so far',
  worst: 'Worst state',
  flaps: 'Recovered, failed again',
  times: (many: number) => `${many === 1 ? 'once' : `${count(many)} times`}, including earlier related incidents`,
  id: 'Permanent link',
  conditions: 'Conditions',
  noChange: 'no state change',
  ongoing: 'ongoing',
  often: (times: number, text: string) => `${times} times, ${text} in total, most recently`,
  charts: 'Before, during and after',
  lag: 'Lag',
  height: 'Height',
  latency: 'Latency p95',
  heartbeat: 'Heartbeat lag',
  locked: 'Sign in to see heights, lag and latency.',
  away: 'The history of that time cannot be read.',
  notCharted: 'What is no longer monitored is not charted.',
  moreEndpoints: (many: number) => `${many} more affected ${many === 1 ? 'endpoint is' : 'endpoints are'} not charted.`,
  changes: 'Timeline',
  moreSamples: (many: number) => `and ${many} more`,
  moreChanges: (many: number) => `${many} more changes`,
  seenFrom: 'Seen from',
  planned: 'Planned maintenance until',
  affected: 'Affected endpoints',
  parts: 'Incidents that are part of it',
  notes: 'Notes',
  noNotes: 'No notes yet.',
  publicNote: 'public',
  newNote: 'New note',
  forPublic: 'Public: show it without the token too',
  addNote: 'Add note',
  noted: 'The note is added.',
  notesNeedScript: 'Notes are added with JavaScript, or with `heartline note`.',
  postMortem: 'Post-mortem',
  show: 'Show the text',
  copy: 'Copy',
  copied: 'Copied',
  asFile: 'Open as text',
  atHead: 'at head',
  atLast: 'at the last block',
  noValidResponse: (height: string | null) =>
    height === null ? 'no valid response' : `no valid response, last height ${height}`,
}

/** The state after a change, with its conditions: `down: unreachable`, `up`. */
export function changeSentence({ state, codes }: IncidentChangeView): string {
  return codes.length === 0 ? state : `${state}: ${codes.join(', ')}`
}

/** A measurement: `height 1,234, 12 blocks behind, 34 ms`. */
export function sampleSentence(sample: IncidentChangeView['samples'][number], isHalted = false): string {
  const { height, lag_blocks: lag, latency_seconds: seconds } = sample
  // Without a valid response the height is an old one, and the lag cannot be known.
  if (seconds === null) return INCIDENT_WORDS.noValidResponse(height === null ? null : count(height))
  const facts = [
    ...(height === null ? [] : [`height ${count(height)}`]),
    ...(lag === null ? [] : [lag !== 0 ? blocksBehind(lag) : isHalted ? INCIDENT_WORDS.atLast : INCIDENT_WORDS.atHead]),
    latency(seconds),
  ]
  return facts.join(', ')
}

function blocksBehind(lag: number): string {
  return `${blocks(lag)} behind`
}

/** `+2 min 3 s`. */
export function offset(seconds: number): string {
  return seconds < 1 ? '0 s' : `+${duration(Math.round(seconds))}`
}
