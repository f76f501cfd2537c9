import type { Rehearsal } from './rehearsal.ts'

/** One fault, its expected alerts, and how it ends. */
export interface Fault {
  readonly what: string
  readonly alerts: readonly string[]
  /** Labels of all these alerts. */
  readonly where: Readonly<Record<string, string>>
  /** Labels of alerts that must not fire during the fault. */
  readonly silences?: Readonly<Record<string, string>>
  inject(at: Rehearsal): void | Promise<void>
  heal(at: Rehearsal): void | Promise<void>
}

/** Each fault has its own network. */
export const FAULTS: readonly Fault[] = [
  onNode('a node refuses connections', 'down', 'b', { kind: 'refuse' }, ['HeartlineEndpointDown']),
  onNode('a node is lagging', 'late', 'b', { kind: 'lag', blocks: 12, gradual: false }, ['HeartlineEndpointLagging']),
  onNode('a node is stalled', 'stall', 'b', { kind: 'stall' }, ['HeartlineEndpointStalled']),
  onNode('a node is on a fork', 'fork', 'b', { kind: 'fork', depth: 3 }, ['HeartlineEndpointForked']),
  {
    ...onNode('a node serves another chain', 'wrong', 'b', { kind: 'wrong-chain', chainId: 5 }, [
      'HeartlineWrongNetwork',
    ]),
    inject({ node }) {
      node('wrong/b').inject({ kind: 'wrong-chain', chainId: 5 })
      // Heartline checks the chain id on every new connection.
      node('wrong/b').inject({ kind: 'refuse' }, 1000)
    },
  },
  onNode('a node reports itself unhealthy', 'self', 'b', { kind: 'unhealthy' }, ['HeartlineNodeUnhealthy']),
  onNode(
    'a check of the node on itself fails',
    'self',
    'c',
    { kind: 'failing-check', name: 'router', contiguousFailures: 5, tolerated: true },
    ['HeartlineNodeCheckFailing'],
  ),
  onNode('a node receives no messages', 'self', 'd', { kind: 'frozen-heartbeat' }, ['HeartlineHeartbeatStale']),
  onNode("a node's clock is wrong", 'self', 'e', { kind: 'clock-skew', byMs: -90_000 }, ['HeartlineClockSkew']),
  onNode('a node is syncing', 'sync', 'b', { kind: 'syncing', blocks: 500 }, ['HeartlineNodeSyncing']),
  onNode('a node has no peers', 'sync', 'c', { kind: 'few-peers', peers: 0 }, ['HeartlineFewPeers']),
  onNode('a consensus node is syncing', 'sync', 'd', { kind: 'consensus-syncing', slots: 320 }, [
    'HeartlineConsensusSyncing',
  ]),
  onNode('a consensus node is down', 'sync', 'e', { kind: 'consensus-down' }, ['HeartlineConsensusDown']),
  onNode('a node is flapping', 'flap', 'b', { kind: 'flap', upMs: 4000, downMs: 4000 }, ['HeartlineEndpointFlapping']),
  {
    what: 'nodes are slow',
    alerts: ['HeartlineEndpointSlow', 'HeartlineGatewaySlow'],
    where: { network: 'slow' },
    inject: ({ nodes }) => nodes('slow').forEach((node) => node.inject({ kind: 'slow', delayMs: 3000 })),
    heal: ({ nodes }) => nodes('slow').forEach((node) => node.heal()),
  },
  {
    what: 'a certificate that expires in five days',
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
    silences: { network: 'halt', scope: 'endpoint' },
    inject: ({ node }) => node('halt/a').inject({ kind: 'halt' }),
    heal: ({ node }) => node('halt/a').heal(),
  },
  {
    what: 'two nodes disagree with two others',
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
    what: 'more polls than one host can serve',
    alerts: ['HeartlineChecksStale'],
    where: { network: 'crowd' },
    inject: ({ node }) => node('crowd/a').inject({ kind: 'hang' }),
    heal: ({ node }) => node('crowd/a').heal(),
  },
]

/** Faults of Heartline itself, all at once, on the second daemon. */
export const OWN_FAULTS: readonly Fault[] = [
  {
    what: 'an invalid configuration',
    alerts: ['HeartlineConfigRejected'],
    where: {},
    inject: ({ second }) => second.reload({ networks: [] }),
    heal: ({ second }) => second.reload(),
  },
  {
    what: 'a stuck scheduler (a relay sets its metric back)',
    alerts: ['HeartlineSchedulerStuck'],
    where: {},
    inject: ({ second }) => second.relay.age('heartline_scheduler_last_round_timestamp_seconds', 600),
    heal: ({ second }) => second.relay.age(null),
  },
  {
    what: 'all hosts disappear at once',
    // The channel of the second daemon rejects every message.
    alerts: ['HeartlineObserverImpaired', 'HeartlineNotificationsFailing'],
    where: {},
    silences: { network: 'second' },
    inject: ({ nodes }) => nodes('second').forEach((node) => node.inject({ kind: 'refuse' })),
    heal: ({ nodes }) => nodes('second').forEach((node) => node.heal()),
  },
]

/** Uses its own disk, which needs root. */
export const DISK_FAULTS: readonly Fault[] = [
  {
    what: 'a full disk',
    alerts: ['HeartlineDiskFilling', 'HeartlineStoreDegraded'],
    where: {},
    inject: ({ second }) => second.disk.fill(),
    heal: ({ second }) => second.disk.empty(),
  },
]

/** Runs after all other faults. */
export const LAST_FAULTS: readonly Fault[] = [
  {
    what: 'Heartline is gone',
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
): Fault {
  return {
    what,
    alerts,
    where: { network, endpoint },
    inject: ({ node }) => node(`${network}/${endpoint}`).inject(fault),
    heal: ({ node }) => node(`${network}/${endpoint}`).heal(),
  }
}
