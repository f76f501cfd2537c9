import { z } from 'zod'
import type { CheckName } from '../core/endpoint.ts'
import { FAMILIES, type Family, METACHAIN } from '../core/network.ts'
import { notify } from './notify-schema.ts'
import * as s from './scalars.ts'
import { list, mapping, section } from './schema-parts.ts'

/** Every key of the configuration file: type, unit, default and description. Every default is here and nowhere else. */

/** Defaults that depend on the family. */
export const FAMILY_DEFAULTS = {
  ethereum: { blockTime: '12s', finalDepth: 1024, rpcPath: '/', ownHealth: false },
  avalanche: { blockTime: '2s', finalDepth: 0, rpcPath: '/ext/bc/C/rpc', ownHealth: true },
  multiversx: { blockTime: '6s', finalDepth: 32, rpcPath: '/', ownHealth: false },
} as const satisfies Record<
  Family,
  {
    blockTime: string
    finalDepth: number
    rpcPath: string
    /** Whether its nodes report their own health in one answer, so that liveness is polled with every head. */
    ownHealth: boolean
  }
>

/** Defaults that depend on other keys; `resolve.ts` applies them. */
export const DERIVED_DEFAULTS = {
  checks: ['liveness', 'head'],
  livenessInterval: '60s',
  stall: '60s',
  stallBlocks: 5,
  timeout: '5s',
  /** Share of `interval`, used if it is shorter than `timeout`. */
  timeoutShare: 0.8,
  /** Share of `interval`: a suspect is polled three more times before its next regular poll. */
  retryShare: 0.25,
  concurrencyPerHost: 8,
  storePath: 'heartline.db',
  lease: '15s',
  /** A result holds for two intervals: what a lost daemon said is over before another one takes over. */
  leaseIntervals: 3,
  lagBlocks: 3,
  lagRecoverBlocks: 1,
  lagBlocksDown: 100,
  shards: [0, 1, 2, METACHAIN],
} as const satisfies Readonly<Record<string, unknown>> & { readonly checks: readonly CheckName[] }

const familyText = (key: 'blockTime' | 'finalDepth' | 'rpcPath') =>
  FAMILIES.map((family) => `${family} \`${FAMILY_DEFAULTS[family][key]}\``).join(', ')

const serverTls = (listener: string) =>
  mapping(`Serves HTTPS on ${listener}. Both files are read again on reload.`, {
    cert: s.file({ description: 'PEM file with the certificate and its chain.' }),
    key: s.file({ description: 'PEM file with the private key.' }),
  }).optional()

const pollKeys = {
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
    .prefault('60s'),
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
    .whole({ description: 'A node that reports fewer peers has `few-peers`; 0 for a node that needs none.' }, 0, 1e6)
    .prefault(1),
  latency: s.duration({ description: 'A poll slower than this is `slow`.' }).prefault('2s'),
  clock_skew: s
    .duration({ description: "Maximum difference between the node's clock and this machine's clock." })
    .prefault('10s'),
  fail_after: s.whole({ description: 'Consecutive polls before a worse state is confirmed.' }, 1, 1000).prefault(2),
  recover_after: s.whole({ description: 'Consecutive polls before a better state is confirmed.' }, 1, 1000).prefault(2),
})

const LABEL_NAME_EXPECTED = 'expected a label name: 1 to 32 characters of a-z, 0-9 and _'
const LABEL_NAME = /^[a-z][a-z0-9_]{0,31}$/
const MOST_LABELS = 8
const labelName = z.string({ error: LABEL_NAME_EXPECTED }).regex(LABEL_NAME, { error: LABEL_NAME_EXPECTED })
/** RFC 9110 token. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/

const endpoint = mapping('One URL at which a node, or a pool of nodes, answers.', {
  name: s.name({ description: 'Unique within its network.' }),
  title: s.title({ description: 'Shown to people.', defaultText: 'the name' }).optional(),
  url: s.nodeUrl({
    description: "The node's base URL; paths are appended to it. It may contain the provider's key and is never shown.",
  }),
  rpc_path: s
    .rpcPath({ description: 'Path of JSON-RPC, appended to `url`.', defaultText: familyText('rpcPath') })
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
  checks: list(s.choice(['liveness', 'head'] as const satisfies readonly CheckName[], { description: 'A check.' }), {
    description: "Checks of a poll: `liveness` asks for the node's own state, `head` for its newest block.",
    defaultText: `\`[${DERIVED_DEFAULTS.checks.join(', ')}]\``,
  })
    .min(1, { error: 'expected at least one check' })
    .optional(),
  beacon_url: s
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

const network = mapping('One blockchain.', {
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
  explorer_url: s
    .publicUrl({
      description:
        'URL of a block explorer, to which heights and hashes on the page link: `/block/HASH` there, for multiversx `/blocks/HASH`.',
      defaultText: 'none',
    })
    .optional(),
  shards: list(s.whole({ description: 'A shard number.' }, 0, METACHAIN), {
    description: 'multiversx only: the shards whose heads are polled; 4294967295 is the metachain.',
    defaultText: `\`[${DERIVED_DEFAULTS.shards.join(', ')}]\``,
  })
    .min(1, { error: 'expected at least one shard' })
    .optional(),
  host: s
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
  endpoints: list(endpoint, { description: 'Its endpoints.' }).min(1, { error: 'expected at least one endpoint' }),
})

const caller = mapping('A client of the gateway.', {
  name: s.callerName({ description: 'Its name in logs, metrics and on the page. Unique.' }),
  endpoint_id: s.endpointId({
    description:
      'The credential: the first path segment after the network. 16 to 128 characters of A-Z a-z 0-9 . _ ~ -',
  }),
  networks: list(s.name({ description: 'A network.' }), { description: 'The networks it may use.', defaultText: 'all' })
    .min(1, { error: 'expected at least one network' })
    .optional(),
  admin: s.flag({ description: 'May call admin.alias if `gateway.admin` is true as well.' }).prefault(false),
  rate_limit: mapping('Maximum rate of requests; each element of a batch counts.', {
    requests: s.whole({ description: 'Number of requests …' }, 1, 1e9),
    per: s.duration({ description: '… per this time.' }, { max: '1d' }),
  }).optional(),
  methods: list(s.allowedMethod({ description: 'A method.' }), {
    description:
      'Methods beyond the default list; `*` is allowed as a suffix. `*` alone allows all but those that control a node: docs/gateway.md.',
    defaultText: 'none',
  }).default([]),
  cors: list(s.origin({ description: 'An origin.' }), {
    description: 'Origins whose pages may call from a browser; `*` allows any. Such a page can read the endpoint_id.',
    defaultText: 'none',
  }).default([]),
})

const maintenance = mapping('A planned window: either `schedule` and `duration`, or `from` and `until`.', {
  name: s.title({ description: 'Shown to people. Unique.' }),
  networks: list(s.name({ description: 'A network.' }), {
    description: 'Networks in maintenance.',
    defaultText: 'all',
  })
    .min(1, { error: 'expected at least one network' })
    .optional(),
  endpoints: list(s.name({ description: 'An endpoint.' }), {
    description: 'Endpoints of these networks in maintenance.',
    defaultText: 'all',
  })
    .min(1, { error: 'expected at least one endpoint' })
    .optional(),
  schedule: s.cron({ description: 'Cron pattern of its starts.', defaultText: 'none' }).optional(),
  duration: s.duration({ description: 'Length of each window.', defaultText: 'none' }, { max: '30d' }).optional(),
  timezone: s.timeZone({ description: 'The time zone of `schedule`.', defaultText: '`UTC`' }).optional(),
  from: s.instant({ description: 'Start of a single window.', defaultText: 'none' }).optional(),
  until: s.instant({ description: 'End of a single window.', defaultText: 'none' }).optional(),
})

const announcement = mapping('A notice at the top of every page, also for readers without the token.', {
  text: s.announcement({ description: 'Plain text.' }),
  from: s.instant({ description: 'Shown from this time on.', defaultText: 'at once' }).optional(),
  until: s.instant({ description: 'Shown until this time.', defaultText: 'until it is removed' }).optional(),
})

export const ConfigFile = z.strictObject(
  {
    server: section("The daemon's own HTTP: page, API, metrics.", {
      listen: s.listen({ description: 'Address to listen on; port 0 means any free port.' }).prefault('127.0.0.1:9780'),
      token: s
        .token({
          description:
            'Without a token everything on this listener is readable; with a token the private parts need `Authorization: Bearer`.',
          defaultText: 'none',
        })
        .optional(),
      public: s
        .flag({
          description:
            'With a token: whether the page is readable without it (names and states only, never URLs or raw errors).',
        })
        .prefault(true),
      hosts: list(s.host({ description: 'A host name or IPv4 address, without port.' }), {
        description:
          'Without a token: further names and addresses to answer for. All requests with another `Host` than these, a loopback name or an address of this listener get 421, which protects against DNS rebinding.',
      }).prefault([]),
      tls: serverTls('`server.listen`'),
      public_url: s
        .publicUrl({ description: 'URL of the page for people, for links in messages.', defaultText: 'none' })
        .optional(),
      grafana_url: s
        .publicUrl({
          description: 'URL of a Grafana with the dashboards of `grafana/dashboards`; charts link to it.',
          defaultText: 'none',
        })
        .optional(),
      public_page: section('The page as others see it.', {
        title: s
          .title({ description: 'Shown on every page in place of the name of the program.', defaultText: 'Heartline' })
          .optional(),
        logo: s
          .file({ description: 'SVG file, shown beside the title.', defaultText: 'the pulse of Heartline' })
          .optional(),
        networks: list(s.name({ description: 'A network.' }), {
          description: 'The only networks that are shown without the token, on the page and in the API.',
          defaultText: 'all',
        })
          .min(1, { error: 'expected at least one network' })
          .optional(),
      }),
    }),
    store: section('The history.', {
      path: s
        .file({
          description:
            'The SQLite file; `":memory:"` keeps the history only while the daemon runs. With `url`: where rows wait while the database is away.',
          defaultText: '`heartline.db`; with `url` none: they wait in memory',
        })
        .optional(),
      url: s
        .databaseUrl({
          description: 'A PostgreSQL database, version 15 or later, that holds the history instead of a file.',
          defaultText: 'none',
        })
        .optional(),
      retention: section('How long each resolution is kept.', {
        raw: s.duration({ description: 'Every poll.' }).prefault('48h'),
        five_minutes: s.duration({ description: 'Five-minute buckets.' }).prefault('30d'),
        hour: s.duration({ description: 'Hourly buckets.' }).prefault('2y'),
      }),
      max_size: s
        .size({ description: 'The oldest rows are deleted early if the file would grow beyond this size.' })
        .prefault('10GiB'),
    }),
    cluster: mapping('Several daemons that share the database of `store.url` and its networks.', {
      vantage: s
        .name({ description: 'The place that this daemon polls from. Daemons of one place share its work.' })
        .prefault('default'),
      quorum: s
        .quorum({
          description:
            'How many places must see an endpoint down before it counts as down; `majority` is at least two of several.',
        })
        .prefault('majority'),
      lease: s
        .duration(
          {
            description: 'After this time without a sign of life, another daemon polls the networks of this one.',
            defaultText: '`15s`, at least three intervals of the slowest endpoint',
          },
          { min: '2s', max: '1d' },
        )
        .optional(),
    }).optional(),
    poll: section('Polling.', {
      interval: pollKeys.interval.prefault('15s'),
      retry_interval: pollKeys.retry_interval.optional(),
      timeout: pollKeys.timeout.optional(),
      liveness_interval: pollKeys.liveness_interval.optional(),
      concurrency: pollKeys.concurrency.prefault(256),
      concurrency_per_host: pollKeys.concurrency_per_host.optional(),
    }),
    networks: list(network, { description: 'The monitored blockchains.' }).min(1, {
      error: 'expected at least one network',
    }),
    gateway: section('The health-aware gateway.', {
      enabled: s.flag({ description: 'Whether it runs.' }).prefault(false),
      listen: s.listen({ description: 'Address to listen on; port 0 means any free port.' }).prefault('127.0.0.1:9781'),
      tls: serverTls('`gateway.listen`'),
      admin: s
        .flag({
          description:
            'admin.alias is refused unless this is true (or `--api-admin-enabled=true` is given) and the caller has `admin: true`.',
        })
        .prefault(false),
      public_url: s
        .publicUrl({ description: 'URL for callers, if a proxy is in front.', defaultText: 'none' })
        .optional(),
      callers: list(caller, { description: 'Its clients.', defaultText: 'none' }).default([]),
      cache: section('Cache of answers that can no longer change.', {
        max_size: s.size({ description: 'Maximum memory.' }).prefault('64MiB'),
      }),
      timeout: s
        .duration({ description: 'Deadline of one request, including all attempts.' }, { max: '10m' })
        .prefault('10s'),
      body_limit: s.size({ description: 'Maximum size of a request body.' }).prefault('1MiB'),
      batch_limit: s
        .whole({ description: 'Maximum number of requests in one JSON-RPC batch.' }, 1, 10_000)
        .prefault(100),
    }),
    metrics: section('What `/metrics` contains.', {
      sparse: s
        .flag({ description: 'Leave out states and conditions that are 0: see `docs/metrics.md`.' })
        .prefault(false),
      labels: list(labelName.meta({ description: 'A name of `networks[].endpoints[].labels`.' }), {
        description: 'Labels of endpoints that their metrics have too, as `label_NAME`: see `docs/metrics.md`.',
        defaultText: 'none',
      })
        .max(MOST_LABELS, { error: `expected at most ${MOST_LABELS} labels` })
        .default([]),
    }),
    notify,
    maintenance: list(maintenance, { description: 'Planned windows.', defaultText: 'none' }).default([]),
    announcements: list(announcement, { description: 'Notices for readers of the page.', defaultText: 'none' }).default(
      [],
    ),
    log: section('The log, on stderr.', {
      level: s
        .choice(['debug', 'info', 'warn', 'error'] as const, { description: 'Lowest level that is logged.' })
        .prefault('info'),
      format: s
        .choice(['json', 'pretty'] as const, { description: 'One JSON object per line, or text for people.' })
        .prefault('json'),
    }),
  },
  { error: 'expected a mapping with at least networks' },
)
export type ConfigFile = z.output<typeof ConfigFile>
