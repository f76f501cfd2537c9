import { blocks, count, duration } from '../format.ts'

/** Labels and sentences of the network page. */
export const NETWORK = {
  arrival: 'Block arrival',
  arrivalOf: (shard: string) => `Block arrival, ${shard}`,
  chain: 'The chain',
  hashes: 'Block hashes by height',
  clients: 'Clients',
  badge: 'State',
  badgeAlt: (title: string) => `State of ${title}`,
  frame: 'Frame with the last 90 days',
  routing: 'Gateway routing order',
  columns: {
    endpoint: 'Endpoint',
    height: 'Height',
    lag: 'Lag',
    first: 'First',
    delay: 'Delay',
  },
  lastBlocks: (n: number) => `Last ${blocks(n)} and time since`,
  firsts: (n: number, of: number) => `${n} of ${of}`,
  sure: (n: number) => `${n} certain`,
  sureMeaning:
    'How often this endpoint was the first one seen with a block; certain if no other endpoint can have had it earlier',
  delayMeaning: 'Median delay behind the first endpoint, with its uncertainty',
  plusMinus: (text: string) => `± ${text}`,
  every: (text: string) => `one block per ${text}`,
  expected: (text: string) => `expected: ${text}`,
  threshold: (text: string) => `halted after ${text}`,
  advancing: (pace: string | null) => (pace === null ? 'The chain is advancing.' : `The chain is advancing, ${pace}.`),
  halted: (text: string) =>
    `No endpoint has had a new block for ${text}: the chain is halted, no endpoint is at fault.`,
  haltedOn: (shards: string, text: string) =>
    `No endpoint has had a new block on ${shards} for ${text}: the chain is halted there, no endpoint is at fault.`,
  split: 'The endpoints disagree on the chain, and no branch has a majority: no endpoint is known to be at fault.',
  onMinority: (who: string) => `The chain is advancing, but ${who} is on a minority branch.`,
  manyOnMinority: (n: number) => `The chain is advancing, but ${n} endpoints are on a minority branch.`,
  noHeads: 'No endpoint reports its head at the moment, so the position of the chain is unknown.',
  stalled: (who: string, text: string) =>
    `The chain is advancing, but ${who} has had no new block for ${text}: the node is stalled, not the chain.`,
  manyStalled: (n: number) =>
    `The chain is advancing, but ${n} endpoints have no new blocks: the nodes are stalled, not the chain.`,
  resolution: (text: string) => `Arrival times are accurate to one poll interval (${text}).`,
  band: (name: string) => `${name}: time between blocks`,
  bandSummary: (n: number, typical: string, longest: string) =>
    `${blocks(n)}, one every ${typical}, at most ${longest} apart`,
  noBand: 'No block arrivals observed yet',
  height: 'Block',
  interval: 'Since previous block',
  firstBy: 'First seen at',
  lastBy: 'Last seen at',
  next: 'Next block',
  notThere: 'not there yet',
  notSeen: 'arrival not observed',
  together: 'first',
  laterBy: (text: string) => `+${text}`,
  legend: {
    first: 'first',
    with: 'within polling precision of the first',
    late: 'later',
    there: 'has it, arrival not observed',
    missing: 'behind',
    unknown: 'not polled',
  },
  calm: 'All endpoints agree and are at head.',
  notListed: (n: number) => `${count(n)} more endpoints are not listed; these are the worst.`,
  agree: 'All endpoints agree.',
  others: (n: number) => `${count(n)} more agree with the majority`,
  disputed: (height: number, n: number) => `At ${count(height)} the endpoints report ${n} different blocks`,
  disputedSince: (height: number) => `first at ${count(height)}`,
  minority: (who: string) => `different block than the majority: ${who}`,
  noMajority: 'no block has a majority',
  branch: (letter: string) => `branch ${letter}`,
  otherBlock: 'different block than the majority',
  notReported: 'not reported',
  noBlocks: 'No blocks reported yet.',
  gatewayOff:
    'The gateway is disabled (gateway.enabled). This is the order that it would use, based on current health and latency.',
  gatewayOn: 'Current order. Requests for a particular block or node may be routed differently.',
  toGateway: 'Gateway statistics',
  more: (n: number) => `and ${count(n)} more`,
  order: 'Order',
  excluded: 'Excluded',
  reserved: 'Sign in to see heights, block hashes and the gateway routing order.',
}

/** With one decimal below a minute: many chains have a block every few seconds. */
export function paceText(seconds: number): string {
  return seconds < 60 ? `${Math.round(seconds * 10) / 10}\u00a0s` : duration(seconds).replaceAll(' ', '\u00a0')
}
