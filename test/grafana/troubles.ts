import type { Rehearsal } from './rehearsal.ts'

/** One thing that goes wrong, what must be heard of it, and how it is healed. */
export interface Trouble {
  readonly what: string
  readonly alerts: readonly string[]
  /** Labels that every one of these alerts has. */
  readonly where: Readonly<Record<string, string>>
  /** Labels of alerts that must not be heard until it is healed. */
  readonly blamesNobody?: Readonly<Record<string, string>>
  inject(at: Rehearsal): void | Promise<void>
  heal(at: Rehearsal): void | Promise<void>
}

/** Each is on a network of its own; those of Heartline itself are on the second daemon. */
export const TROUBLES: readonly Trouble[] = [
  onNode('a node refuses', 'down', 'b', { kind: 'refuse' }, ['HeartlineEndpointDown']),
  onNode('a node is late', 'late', 'b', { kind: 'lag', blocks: 12, gradual: false }, ['HeartlineEndpointLagging']),
  onNode('a node stands still', 'stall', 'b', { kind: 'stall' }, ['HeartlineEndpointStalled']),
  onNode('a node is on a fork', 'fork', 'b', { kind: 'fork', depth: 3 }, ['HeartlineEndpointForked']),
  {
    ...onNode('a node serves another chain', 'wrong', 'b', { kind: 'wrong-chain', chainId: 5 }, [
      'HeartlineWrongNetwork',
    ]),
    inject({ node }) {
      node('wrong/b').inject({ kind: 'wrong-chain', chainId: 5 })
      // The chain id is asked for on every new connection.
      node('wrong/b').inject({ kind: 'refuse' }, 1000)
    },
  },
  onNode('a node calls itself unhealthy', 'self', 'b', { kind: 'unhealthy' }, ['HeartlineNodeUnhealthy']),
  onNode(
    'a check of the node on itself fails',
    'self',
    'c',
    { kind: 'failing-check', name: 'router', contiguousFailures: 5, tolerated: true },
    ['HeartlineNodeCheckFailing'],
  ),
  onNode('a node hears nothing', 'self', 'd', { kind: 'frozen-heartbeat' }, ['HeartlineHeartbeatStale']),
  onNode("a node's clock is off", 'self', 'e', { kind: 'clock-skew', byMs: -90_000 }, ['HeartlineClockSkew']),
  onNode('a node comes and goes', 'flap', 'b', { kind: 'flap', upMs: 4000, downMs: 4000 }, [
    'HeartlineEndpointFlapping',
  ]),
  {
    what: 'nodes are slow',
    alerts: ['HeartlineEndpointSlow', 'HeartlineGatewaySlow'],
    where: { network: 'slow' },
    inject: ({ nodes }) => nodes('slow').forEach((node) => node.inject({ kind: 'slow', delayMs: 3000 })),
    heal: ({ nodes }) => nodes('slow').forEach((node) => node.heal()),
  },
  {
    what: 'a certificate that ends in five days',
    alerts: ['HeartlineTlsExpiring'],
    where: { network: 'tls', endpoint: 'b' },
    inject: ({ certificate }) => certificate(5),
    heal: ({ certificate }) => certificate(90),
  },
  {
    what: 'two of three nodes hang',
    alerts: ['HeartlineNetworkDegraded'],
    where: { network: 'half' },
    inject: ({ nodes }) =>
      nodes('half')
        .slice(1)
        .forEach((node) => node.inject({ kind: 'hang' })),
    heal: ({ nodes }) => nodes('half').forEach((node) => node.heal()),
  },
  {
    what: 'all nodes hang',
    alerts: [
      'HeartlineNetworkDown',
      'HeartlineNoEligibleEndpoint',
      'HeartlineGatewayErrors',
      'HeartlineAvailabilityBurnFast',
      'HeartlineAvailabilityBurnSlow',
      'HeartlineFreshnessBurnFast',
      'HeartlineFreshnessBurnSlow',
    ],
    where: { network: 'dark' },
    inject: ({ nodes }) => nodes('dark').forEach((node) => node.inject({ kind: 'hang' })),
    heal: ({ nodes }) => nodes('dark').forEach((node) => node.heal()),
  },
  {
    what: 'a chain halts',
    alerts: ['HeartlineChainHalted'],
    where: { network: 'halt' },
    blamesNobody: { network: 'halt', scope: 'endpoint' },
    inject: ({ node }) => node('halt/a').inject({ kind: 'halt' }),
    heal: ({ node }) => node('halt/a').heal(),
  },
  {
    what: 'two nodes against two',
    alerts: ['HeartlineNetworkForked'],
    where: { network: 'split' },
    inject({ node }) {
      const at = node('split/a').height() + 2
      for (const name of ['split/c', 'split/d']) node(name).inject({ kind: 'fork', depth: 3, branch: 1, at })
    },
    heal: ({ nodes }) => nodes('split').forEach((node) => node.heal()),
  },
  {
    what: 'a proxy mixes up answers',
    alerts: ['HeartlineAnswerIntegrity'],
    where: { network: 'mixed' },
    inject: ({ nodes }) => nodes('mixed').forEach((node) => node.inject({ kind: 'wrong-id' })),
    heal: ({ nodes }) => nodes('mixed').forEach((node) => node.heal()),
  },
  {
    what: 'more polls than one host gets through',
    alerts: ['HeartlineChecksStale'],
    where: { network: 'crowd' },
    inject: ({ node }) => node('crowd/a').inject({ kind: 'hang' }),
    heal: ({ node }) => node('crowd/a').heal(),
  },
]

/** Of Heartline itself, all at once, on the second daemon. */
export const OWN_TROUBLES: readonly Trouble[] = [
  {
    what: 'a configuration with a mistake',
    alerts: ['HeartlineConfigRejected'],
    where: {},
    inject: ({ second }) => second.reload({ networks: [] }),
    heal: ({ second }) => second.reload(),
  },
  {
    what: 'a scheduler that stands still (its metric, set back by a relay)',
    alerts: ['HeartlineSchedulerStuck'],
    where: {},
    inject: ({ second }) => second.relay.age('heartline_scheduler_last_round_timestamp_seconds', 600),
    heal: ({ second }) => second.relay.age(null),
  },
  {
    what: 'all hosts are gone at once',
    alerts: ['HeartlineObserverImpaired'],
    where: {},
    blamesNobody: { network: 'second' },
    inject: ({ nodes }) => nodes('second').forEach((node) => node.inject({ kind: 'refuse' })),
    heal: ({ nodes }) => nodes('second').forEach((node) => node.heal()),
  },
]

/** A disk of its own, which needs root. */
export const DISK_TROUBLES: readonly Trouble[] = [
  {
    what: 'a disk without room',
    alerts: ['HeartlineDiskFilling', 'HeartlineStoreDegraded'],
    where: {},
    inject: ({ second }) => second.disk.fill(),
    heal: ({ second }) => second.disk.empty(),
  },
]

/** When all else is over. */
export const LAST_TROUBLES: readonly Trouble[] = [
  {
    what: 'Heartline is not there',
    alerts: ['HeartlineAbsent'],
    where: {},
    inject: ({ second }) => second.stop(),
    heal: ({ second }) => second.start(),
  },
]

function onNode(
  what: string,
  network: string,
  endpoint: string,
  fault: Parameters<ReturnType<Rehearsal['node']>['inject']>[0],
  alerts: readonly string[],
): Trouble {
  return {
    what,
    alerts,
    where: { network, endpoint },
    inject: ({ node }) => node(`${network}/${endpoint}`).inject(fault),
    heal: ({ node }) => node(`${network}/${endpoint}`).heal(),
  }
}
