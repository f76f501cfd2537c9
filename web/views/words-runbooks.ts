import type { IncidentConditionView } from '../../src/http/wire/incidents.ts'

/** The first thing to do about a condition; its runbook has the rest. */
export const NEXT_STEPS: Readonly<Record<IncidentConditionView['code'], string>> = {
  unreachable: 'Check that the node runs, and that this machine can connect to its port.',
  'bad-answer': 'Send the same request with curl from this machine, and look at the HTTP status and the key.',
  'wrong-network': 'Compare the URL with the chain that the node serves.',
  unhealthy: 'Find the failing check in the node’s own report, below on its page.',
  lagging: 'See whether the lag grows: if so, check disk, memory and CPU of the node, then its peers.',
  stalled: 'Check that the node has peers and free disk space; restart it if it does not recover.',
  forked: 'Compare its block hash with a block explorer; resync the node if it is on the wrong branch.',
  'check-failing': 'Look up the check’s name and message in the node’s log.',
  'heartbeat-stale': 'Check the node’s peers, its network and its clock.',
  syncing: 'Wait if the number of blocks to go shrinks; otherwise check disk, memory and peers of the node.',
  'few-peers': 'Check that the node’s peer-to-peer port is reachable from outside.',
  'consensus-syncing': 'Wait until the consensus node has caught up; check its checkpoint and its disk.',
  'consensus-down': 'Start the consensus node, and check its connection to the execution node.',
  slow: 'Compare latency with the other endpoints: if all are slow, look at the path from here.',
  'rate-limited': 'Poll less often, or raise the limit of the provider’s plan.',
  partial: 'Compare what the places see, and check path and firewall between the node and those that see it down.',
  'clock-skewed': 'Synchronise the clocks of the node and of this machine with NTP.',
  'no-evidence': 'Keep the head check of this endpoint enabled.',
  halted: 'Look at the announcements of the chain: no endpoint is at fault.',
}
