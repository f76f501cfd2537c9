import * as z from 'zod'
import type { CheckName } from '../core/endpoint.ts'
import { FAMILIES, type Family, METACHAIN } from '../core/network.ts'
import * as address from './addresses.ts'
import { DERIVED_DEFAULTS, FAMILY_DEFAULTS, THRESHOLDS } from './defaults.ts'
import * as s from './scalars.ts'
import { atLeastOne, mapping, section } from './schema-parts.ts'

/** The keys of `networks` and of `poll`: type, unit, default and description. */

const familyText = (key: 'blockTime' | 'finalDepth' | 'rpcPath', families: readonly Family[] = FAMILIES) =>
  families.map((family) => `${family} \`${FAMILY_DEFAULTS[family][key]}\``).join(', ')

export const pollKeys = {
  interval: s.duration({ description: 'Time between two polls of an endpoint.' }, { max: '1d' }),
  retry_interval: s.duration(
    {
      description: 'Time from a poll that finds something worse than the state of the endpoint to the next poll.',
      defaultText: 'a quarter of `interval`',
    },
    { max: '1d' },
  ),
  timeout: s.duration(
    {
      description: 'Deadline of one check, from connecting to the last byte.',
      defaultText: `\`${DERIVED_DEFAULTS.timeout}\`, or 80 % of \`interval\` if that is shorter`,
    },
    { max: '1d' },
  ),
  liveness_interval: s.duration(
    {
      description:
        'Time between two liveness checks of an endpoint, which are extra requests (ethereum, multiversx). While a change is being confirmed, every poll asks.',
      defaultText: `\`${DERIVED_DEFAULTS.livenessInterval}\`, or \`interval\` if that is longer`,
    },
    { max: '1d' },
  ),
  concurrency: s.whole({ description: 'Maximum number of concurrent polls.' }, 1, 65_535),
  concurrency_per_host: s.whole(
    {
      description: 'Maximum number of concurrent polls of one host and port.',
      defaultText: `\`${DERIVED_DEFAULTS.concurrencyPerHost}\`, or \`concurrency\` if that is less`,
    },
    1,
    65_535,
  ),
}

function inherited<T extends z.ZodType>(key: T) {
  return key.optional().meta({ defaultText: 'value of `poll`' })
}

const thresholds = section('Limits of the verdict rules.', {
  lag_blocks: s
    .whole({ description: 'An endpoint this many blocks behind the reference head is `lagging` …' }, 1, 1e9)
    .prefault(DERIVED_DEFAULTS.lagBlocks),
  lag_recover_blocks: s
    .whole(
      {
        description: '… until it is at most this many blocks behind.',
        defaultText: `\`${DERIVED_DEFAULTS.lagRecoverBlocks}\`, or \`lag_blocks\` - 1 if that is less`,
      },
      0,
      1e9,
    )
    .optional(),
  lag_blocks_down: s
    .whole(
      {
        description: 'An endpoint this many blocks behind is down, not degraded.',
        defaultText: `\`${DERIVED_DEFAULTS.lagBlocksDown}\`, or 2 x \`lag_blocks\` if that is more`,
      },
      2,
      1e9,
    )
    .optional(),
  stall: s
    .duration({
      description: 'An endpoint without a new block for this long is `stalled` if another endpoint advances.',
      defaultText: `\`${DERIVED_DEFAULTS.stall}\`, or ${DERIVED_DEFAULTS.stallBlocks} x \`block_time\` if that is more`,
    })
    .optional(),
  heartbeat: s
    .duration({ description: 'Maximum age of the last handled network message (avalanche).' })
    .prefault(THRESHOLDS.heartbeat),
  contiguous_failures: s
    .whole(
      {
        description:
          "Consecutive failures before one of the node's own checks counts (avalanche), or before an unanswered question of the liveness check does (ethereum, multiversx).",
      },
      1,
      1e6,
    )
    .prefault(3),
  min_peers: s
    .whole(
      {
        description:
          'A node that reports fewer peers has `few-peers` (ethereum, multiversx); 0 for a node that needs none.',
      },
      0,
      1e6,
    )
    .prefault(THRESHOLDS.minPeers),
  latency: s.duration({ description: 'A poll slower than this is `slow`.' }).prefault('2s'),
  clock_skew: s
    .duration({ description: "Maximum difference between the node's clock and this machine's clock." })
    .prefault('10s'),
  fail_after: s.whole({ description: 'Consecutive polls before a worse state is confirmed.' }, 1, 1000).prefault(2),
  recover_after: s.whole({ description: 'Consecutive polls before a better state is confirmed.' }, 1, 1000).prefault(2),
})

const LABEL_NAME_EXPECTED = 'expected a label name: 1 to 32 characters of a-z, 0-9 and _'
const LABEL_NAME = /^[a-z][a-z0-9_]{0,31}$/
export const MOST_LABELS = 8
export const labelName = z.string({ error: LABEL_NAME_EXPECTED }).regex(LABEL_NAME, { error: LABEL_NAME_EXPECTED })
/** RFC 9110 token. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/

const CHECKS: readonly CheckName[] = ['liveness', 'head']

const endpoint = mapping('One URL at which a node, or a pool of nodes, answers.', {
  name: s.name({ description: 'Unique within its network.' }),
  title: s.title({ description: 'Shown to people.', defaultText: 'the name' }).optional(),
  url: address.nodeUrl({
    description: "The node's base URL; paths are appended to it. It may contain the provider's key and is never shown.",
  }),
  rpc_path: s
    .rpcPath({
      description: 'Path of JSON-RPC, appended to `url`; multiversx has none.',
      defaultText: familyText('rpcPath', ['ethereum', 'avalanche']),
    })
    .optional(),
  headers: z
    .record(
      z.string().regex(HEADER_NAME, { error: 'expected a header name' }),
      s.headerValue({ description: 'Its value.' }),
      {
        error: 'expected a mapping of header names to values',
      },
    )
    .default({})
    .meta({ description: 'Sent with every request. Values are never shown.', defaultText: 'none' }),
  checks: atLeastOne('check', s.choice(CHECKS, { description: 'A check.' }), {
    description: "Checks of a poll: `liveness` asks for the node's own state, `head` for its newest block.",
    defaultText: `\`[${DERIVED_DEFAULTS.checks.join(', ')}]\``,
  }).optional(),
  beacon_url: address
    .nodeUrl({
      description:
        'ethereum only: base URL of the Beacon API of the consensus node behind this node; `liveness` asks it too. `headers` are not sent to it; `tls` applies. Never shown.',
      defaultText: 'none',
    })
    .optional(),
  tier: s
    .choice(['primary', 'fallback'] as const, {
      description: 'The gateway uses `fallback` only when no `primary` is usable.',
    })
    .prefault('primary'),
  provider: s
    .name({
      description:
        'Who runs it. Endpoints of one provider that fail together are one incident; without it, those of one host and port.',
      defaultText: 'none',
    })
    .optional(),
  labels: z
    .record(labelName, s.labelValue({ description: 'Its value.' }), {
      error: 'expected a mapping of label names to values',
    })
    .refine((labels) => Object.keys(labels).length <= MOST_LABELS, { error: `expected at most ${MOST_LABELS} labels` })
    .default({})
    .meta({ description: 'By which the page filters, such as `{region: fra}`; part of the API.', defaultText: 'none' }),
  kind: s
    .choice(['proxy', 'observer'] as const, {
      description: 'multiversx only: an observer serves one `shard` and has no shard in its paths.',
      defaultText: '`proxy`',
    })
    .optional(),
  shard: s.whole({ description: 'The shard that an observer serves.', defaultText: 'none' }, 0, METACHAIN).optional(),
  tls: section('Trust in the certificate of an https `url`.', {
    ca: s.authorities().optional(),
    insecure: s.flag({ description: 'Accept any certificate. For tests only.' }).prefault(false),
  }),
})

export const network = mapping('One blockchain.', {
  name: s.name({ description: 'Unique.' }),
  title: s.title({ description: 'Shown to people.', defaultText: 'the name' }).optional(),
  family: s.choice(FAMILIES, {
    description: "The interface of its nodes: JSON-RPC, avalanchego's APIs, or sharded REST.",
  }),
  block_time: s
    .duration({ description: 'Usual time between blocks.', defaultText: familyText('blockTime') }, { max: '1d' })
    .optional(),
  final_depth: s
    .whole(
      {
        description:
          'Number of newer blocks that make a block final, so that answers about it are cached; 0 if every block is final at once.',
        defaultText: familyText('finalDepth'),
      },
      0,
      1e9,
    )
    .optional(),
  chain_id: s
    .whole(
      { description: 'Verified on every endpoint when given (ethereum, avalanche).', defaultText: 'not verified' },
      1,
      Number.MAX_SAFE_INTEGER,
    )
    .optional(),
  explorer_url: address
    .publicUrl({
      description:
        'URL of a block explorer, to which heights and hashes on the page link: `/block/HASH` there, for multiversx `/blocks/HASH`.',
      defaultText: 'none',
    })
    .optional(),
  shards: atLeastOne('shard', s.whole({ description: 'A shard number.' }, 0, METACHAIN), {
    description: 'multiversx only: the shards whose heads are polled; 4294967295 is the metachain.',
    defaultText: `\`[${DERIVED_DEFAULTS.shards.join(', ')}]\``,
  }).optional(),
  host: address
    .host({
      description:
        "A gateway request with this Host is for this network, and its path starts with the caller's `endpoint_id`.",
      defaultText: 'none',
    })
    .optional(),
  poll: section('Any key of `poll`, for this network only.', {
    interval: inherited(pollKeys.interval),
    retry_interval: inherited(pollKeys.retry_interval),
    timeout: inherited(pollKeys.timeout),
    liveness_interval: inherited(pollKeys.liveness_interval),
    concurrency: inherited(pollKeys.concurrency),
    concurrency_per_host: inherited(pollKeys.concurrency_per_host),
  }),
  thresholds,
  endpoints: atLeastOne('endpoint', endpoint, { description: 'Its endpoints.' }),
})
