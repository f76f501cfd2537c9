import { count, duration } from './format.ts'

const blocks = (n: number) => `${count(n)} ${n === 1 ? 'block' : 'blocks'}`

/** What the view of a network says. */
export const NETWORK = {
  race: 'Height race',
  raceOf: (shard: string) => `Height race, ${shard}`,
  chain: 'The chain',
  lens: 'Which block at which height',
  routing: 'Whom the gateway would ask',
  columns: {
    endpoint: 'Endpoint',
    height: 'Height',
    lag: 'Behind',
    first: 'Seen first',
    later: 'Later by',
  },
  lastBlocks: (n: number) => `The last ${blocks(n)}, and the time since`,
  firsts: (n: number, of: number) => `${n} of ${of}`,
  sure: (n: number) => `${n} for certain`,
  sureMeaning:
    'How often it was the first that was seen at a block; for certain where nobody else can have been sooner',
  laterMeaning: 'How much later than the first it was seen at a block, in the middle of all; and how sharp that is',
  plusMinus: (text: string) => `± ${text}`,
  every: (text: string) => `a block every ${text}`,
  expected: (text: string) => `expected: ${text}`,
  threshold: (text: string) => `halted from ${text} on`,
  goesOn: (pace: string | null) => (pace === null ? 'The chain goes on.' : `The chain goes on, ${pace}.`),
  halted: (text: string) => `Nobody has had a new block for ${text}: the chain is halted, no endpoint is to blame.`,
  haltedOn: (shards: string, text: string) =>
    `Nobody has had a new block on ${shards} for ${text}: the chain is halted there, no endpoint is to blame.`,
  split: 'The endpoints disagree on the chain, and no branch has a majority: nobody can be blamed for it.',
  astray: (who: string) => `The chain goes on, and ${who} follows another branch than the majority.`,
  astrayMany: (n: number) => `The chain goes on, and ${n} endpoints follow another branch than the majority.`,
  silent: 'Nobody tells its head now, so where the chain is cannot be known.',
  stuck: (who: string, text: string) =>
    `The chain goes on, and ${who} has stood at one block for ${text}: the node is stuck, not the chain.`,
  stuckMany: (n: number) => `The chain goes on, and ${n} endpoints stand still: the nodes are stuck, not the chain.`,
  resolution: (text: string) =>
    `An endpoint is seen at a block by the first poll that tells it: it was there up to ${text} sooner, the time between two polls.`,
  band: (name: string) => `${name}: the time from block to block`,
  bandSummary: (n: number, typical: string, longest: string) =>
    `${blocks(n)}, one every ${typical}, at most ${longest} apart`,
  noBand: 'No blocks were seen to come yet',
  height: 'Block',
  interval: 'After the one before',
  firstBy: 'First seen at',
  lastBy: 'Last seen at',
  next: 'The next one',
  notThere: 'not there yet',
  notSeen: 'not seen to come',
  together: 'first',
  laterBy: (text: string) => `+${text}`,
  legend: {
    first: 'seen first',
    with: 'no later than polls can tell',
    late: 'later',
    there: 'has it, not seen to come',
    missing: 'behind',
    unknown: 'not watched',
  },
  leftOut: (n: number) => `${count(n)} more are not listed: these are the worst.`,
  oneMind: 'All that was told is of one mind.',
  others: (n: number) => `${count(n)} more, of one mind with the majority`,
  disputed: (height: number, n: number) => `At ${count(height)} the endpoints tell ${n} different blocks`,
  disputedSince: (height: number) => `the first time at ${count(height)}`,
  minority: (who: string) => `another block than most: ${who}`,
  noMajority: 'no block has a majority',
  branch: (letter: string) => `branch ${letter}`,
  otherBlock: 'another block than most',
  blank: 'not told',
  nothingTold: 'Nobody has told a block yet.',
  gatewayOff:
    'There is no gateway: this is whom one would ask, by these verdicts and latencies. It is switched on by gateway.enabled.',
  gatewayOn: 'What the gateway does now. Requests that need a certain block or node may go elsewhere.',
  toGateway: 'Its requests',
  first: 'asked first',
  afterwards: 'then',
  more: (n: number) => `and ${count(n)} more`,
  nobody: 'Nobody is well: reads go to the least bad, writes are refused.',
  askedTitle: 'In this order',
  leftOutTitle: 'Left out',
  fallback: 'fallback',
  reserved: 'Heights, blocks and whom the gateway would ask are shown to who signs in.',
  away: 'Which block was seen when cannot be told just now.',
}

/** Why the gateway does not ask an endpoint. */
const REASONS: Readonly<Record<string, string>> = {
  'wrong-network': 'it is of another chain',
  unreachable: 'it cannot be reached',
  'bad-answer': 'its answers make no sense',
  unhealthy: 'it says itself that it is not healthy',
  forked: 'it is on another branch than the others',
  stalled: 'it stands still while the others go on',
  lagging: 'it is behind the others',
  down: 'it is down',
  unknown: 'nothing is known of it now',
  unverified: 'no poll could yet tell of which chain it is',
  maintenance: 'it is in maintenance',
  'breaker-open': 'too many requests to it failed just now',
  resting: 'it asked to be left alone for a while',
}

export function reasonText(code: string): string {
  return REASONS[code] ?? code
}

/** Fractions count where blocks come every few seconds. */
export function paceText(seconds: number): string {
  return seconds < 60 ? `${Math.round(seconds * 10) / 10}\u00a0s` : duration(seconds).replaceAll(' ', '\u00a0')
}
