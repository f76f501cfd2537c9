import { count } from './format.ts'

/** Sentences and labels of the gateway's view. */
export const GATEWAY_WORDS = {
  title: 'Gateway',
  off: 'The gateway is not enabled.',
  offMeaning:
    'It takes JSON-RPC and REST requests of your programs and has them answered by whichever endpoint is well. To switch it on, give it an address and a caller in the configuration, and start Heartline anew:',
  offExample: `gateway:
  enabled: true
  listen: 127.0.0.1:9781
  callers:
    - name: wallet
      # a credential of 16 to 128 characters
      endpoint_id: \${WALLET_ENDPOINT_ID}`,
  offAfter: 'Callers then ask http://127.0.0.1:9781/<network>/<endpoint_id>.',
  since: 'Counted since the start,',
  ago: 'ago',
  inFlight: (many: number) => `${count(many)} at work`,
  figures: {
    requests: 'Requests',
    failed: 'Failed',
    failedMeaning: 'nobody could answer',
    refused: 'Refused',
    overhead: 'Our own time, p50',
    retries: 'Asked again',
    cache: 'From the cache',
  },
  p99: (text: string) => `p99 ${text}`,
  of: (many: number) => `of ${count(many)}`,
  nothing: 'Nobody has asked yet.',
  course: 'Requests, minute by minute',
  perMinute: 'Requests a minute',
  failedPerMinute: 'Failed a minute',
  order: 'Whom it would ask now',
  place: 'Place',
  endpoint: 'Endpoint',
  share: 'Share of answers',
  latency: 'Latency',
  attempts: 'Asked',
  unanswered: 'No answer',
  working: 'At work',
  fallback: 'fallback',
  first: 'asked first',
  nth: (place: number) => `${place}.`,
  leftOut: 'left out',
  nobody: 'Nobody is well: reads go to the least bad, everything else is refused.',
  operations: 'By operation',
  operation: 'Operation',
  answered: 'Answered',
  nodeErrors: "Nodes' errors",
  time: 'Time p50',
  timeMost: 'p99',
  own: 'Ours p50',
  ownMost: 'p99',
  again: {
    failed: (many: number) => `${count(many)} after a failure`,
    absent: (many: number) => `${count(many)} for what the first had not got`,
    behind: (many: number) => `${count(many)} for what the first was behind`,
  },
  shared: 'Shared',
  unwell: 'By the least bad',
  coalesced: (many: number) => `${count(many)} shared the answer of the same request`,
  leastBad: (many: number) => `${count(many)} answered by an endpoint that is not well`,
  rejections: 'The gateway said no',
  notAnswered: 'Not answered',
  unplaced: (many: number) => `${count(many)} without a network or a known caller`,
  callers: 'Callers',
  callersTable: 'Who asks, and what is allowed',
  caller: 'Caller',
  networks: 'Networks',
  allowed: 'Allowed besides',
  limit: 'Limit',
  noLimit: 'none',
  perLimit: (many: number, seconds: number) => `${count(many)} in ${seconds} s`,
  admin: 'admin.alias',
  aliases: 'Aliases',
  alias: 'Alias',
  target: 'Leads to',
  stale: 'not in force',
  made: 'Made by',
  holds: 'in force',
}

const REASONS: Readonly<Record<string, string>> = {
  down: 'down',
  unknown: 'nobody knows how it is',
  unverified: 'no poll has verified its chain yet',
  maintenance: 'planned maintenance',
  'breaker-open': 'its traffic failed: it is given a rest',
  resting: 'it asked to be left alone',
  'wrong-network': 'it serves another chain',
  unreachable: 'it cannot be reached',
  'bad-answer': 'it answers with what is no answer',
  unhealthy: 'it calls itself ill',
  forked: 'it is on another branch',
  stalled: 'it stands still',
  lagging: 'it is behind',
}

/** Why an endpoint is left out. */
export function leftOutSentence(reason: string): string {
  return REASONS[reason] ?? reason
}
