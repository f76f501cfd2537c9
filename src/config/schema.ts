import { z } from 'zod'
import type { CheckName } from '../core/endpoint.ts'
import { type Family, METACHAIN } from '../core/network.ts'
import * as s from './scalars.ts'

/** Every key of the configuration file: its type, unit, default and description. Every default is here and nowhere else. */

/** Defaults that depend on what the nodes speak. */
export const FAMILY_DEFAULTS = {
  ethereum: { blockTime: '12s', finalDepth: 1024, checks: ['head'], offered: ['head'], rpcPath: '/' },
  avalanche: {
    blockTime: '2s',
    finalDepth: 0,
    checks: ['liveness', 'head'],
    offered: ['liveness', 'head'],
    rpcPath: '/ext/bc/C/rpc',
  },
  multiversx: { blockTime: '6s', finalDepth: 32, checks: ['head'], offered: ['head'], rpcPath: '/' },
} as const satisfies Record<
  Family,
  {
    blockTime: string
    finalDepth: number
    checks: readonly CheckName[]
    offered: readonly CheckName[]
    rpcPath: string
  }
>
export const FAMILIES = ['ethereum', 'avalanche', 'multiversx'] as const satisfies readonly Family[]

/** Defaults that give way to a neighbour that was set: `resolve.ts` says how. */
export const YIELDING_DEFAULTS = {
  stall: '60s',
  stallBlocks: 5,
  timeout: '5s',
  /** Of a shorter interval. */
  timeoutShare: 0.8,
  concurrencyPerHost: 8,
  lagBlocks: 3,
  lagRecoverBlocks: 1,
  lagBlocksDown: 100,
  shards: [0, 1, 2, METACHAIN],
} as const

const familyText = (key: 'blockTime' | 'finalDepth' | 'rpcPath') =>
  FAMILIES.map((family) => `${family} \`${FAMILY_DEFAULTS[family][key]}\``).join(', ')

const expected = (what: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (input === undefined ? 'required' : `expected ${what}`),
})

/** A key whose value is a mapping; all of its keys have defaults, so it may be left out as a whole. */
function section<T extends z.ZodRawShape>(description: string, shape: T) {
  return z
    .strictObject(shape, expected('a mapping'))
    .prefault({} as never)
    .meta({ description })
}
function mapping<T extends z.ZodRawShape>(description: string, shape: T) {
  return z.strictObject(shape, expected('a mapping')).meta({ description })
}
function list<T extends z.ZodType>(item: T, about: s.About) {
  const { description, defaultText } = about
  return z.array(item, expected('a list')).meta({ description, ...(defaultText ? { defaultText } : {}) })
}

const serverTls = (listener: string) =>
  mapping(`Serves HTTPS on ${listener} itself. Both files are read again on reload.`, {
    cert: s.file({ description: 'PEM file with the certificate and its chain.' }),
    key: s.file({ description: 'PEM file with the private key.' }),
  }).optional()

const pollKeys = {
  interval: s.duration({ description: 'From one poll of an endpoint to its next.' }, { max: '1d' }),
  timeout: s.duration(
    {
      description: 'The whole deadline of one check, from connecting to the last byte.',
      defaultText: `\`${YIELDING_DEFAULTS.timeout}\`, or 80 % of \`interval\` if that is shorter`,
    },
    { max: '1d' },
  ),
  concurrency: s.whole({ description: 'Polls under way at once, over all endpoints.' }, 1, 65_535),
  concurrency_per_host: s.whole(
    {
      description: 'Polls under way at once against one host and port.',
      defaultText: `\`${YIELDING_DEFAULTS.concurrencyPerHost}\`, or \`concurrency\` if that is less`,
    },
    1,
    65_535,
  ),
}

function inherited<T extends z.ZodType>(key: T) {
  return key.optional().meta({ defaultText: 'that of `poll`' })
}

const thresholds = section('When an endpoint is called what.', {
  lag_blocks: s
    .whole({ description: 'Lagging from this many blocks behind the reference head on …' }, 1, 1e9)
    .prefault(YIELDING_DEFAULTS.lagBlocks),
  lag_recover_blocks: s
    .whole(
      {
        description: '… until it is this many or fewer behind.',
        defaultText: `\`${YIELDING_DEFAULTS.lagRecoverBlocks}\`, or \`lag_blocks\` - 1 if that is less`,
      },
      0,
      1e9,
    )
    .optional(),
  lag_blocks_down: s
    .whole(
      {
        description: 'This many blocks behind is down, not degraded.',
        defaultText: `\`${YIELDING_DEFAULTS.lagBlocksDown}\`, or 2 x \`lag_blocks\` if that is more`,
      },
      2,
      1e9,
    )
    .optional(),
  stall: s
    .duration({
      description: 'Stalled when it has no new block for this long, while another endpoint advances.',
      defaultText: `\`${YIELDING_DEFAULTS.stall}\`, or ${YIELDING_DEFAULTS.stallBlocks} x \`block_time\` if that is more`,
    })
    .optional(),
  heartbeat: s
    .duration({ description: 'The last handled network message may be this old (avalanche).' })
    .prefault('60s'),
  contiguous_failures: s
    .whole({ description: "One of the node's own checks failed this many times in a row (avalanche)." }, 1, 1e6)
    .prefault(3),
  latency: s.duration({ description: 'A poll slower than this is `slow`.' }).prefault('2s'),
  clock_skew: s.duration({ description: "The node's clock may be this far from ours, either way." }).prefault('10s'),
  fail_after: s.whole({ description: 'Polls in a row before a worse state is confirmed.' }, 1, 1000).prefault(2),
  recover_after: s.whole({ description: 'Polls in a row before a better state is confirmed.' }, 1, 1000).prefault(2),
})

/** RFC 9110 token. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/

const endpoint = mapping('One URL at which a node, or a pool of them, answers.', {
  name: s.name({ description: 'Unique within its network.' }),
  title: s.title({ description: 'Shown to people.', defaultText: 'the name' }).optional(),
  url: s.nodeUrl({
    description: "The node's base URL; paths are appended to it. It may carry the provider's key: it is never shown.",
  }),
  rpc_path: s
    .rpcPath({ description: 'Where JSON-RPC goes, appended to `url`.', defaultText: familyText('rpcPath') })
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
    description: 'What a poll asks; `liveness` only of avalanche nodes.',
    defaultText: FAMILIES.map((family) => `${family} \`[${FAMILY_DEFAULTS[family].checks.join(', ')}]\``).join(', '),
  })
    .min(1, { error: 'expected at least one check' })
    .optional(),
  tier: s
    .choice(['primary', 'fallback'] as const, {
      description: 'The gateway uses `fallback` only when no `primary` is usable.',
    })
    .prefault('primary'),
  kind: s
    .choice(['proxy', 'observer'] as const, {
      description: 'multiversx only: an observer serves one `shard` and has no shard in its paths.',
      defaultText: '`proxy`',
    })
    .optional(),
  shard: s.whole({ description: 'The shard that an observer serves.', defaultText: 'none' }, 0, METACHAIN).optional(),
  tls: section('How an https `url` is trusted.', {
    ca: s
      .file({
        description: "PEM file with the authorities to trust instead of the system's.",
        defaultText: "the system's",
      })
      .optional(),
    insecure: s.flag({ description: 'Accept any certificate. For tests only.' }).prefault(false),
  }),
})

const network = mapping('One blockchain.', {
  name: s.name({ description: 'Unique.' }),
  title: s.title({ description: 'Shown to people.', defaultText: 'the name' }).optional(),
  family: s.choice(FAMILIES, {
    description: "The interface that its nodes speak: JSON-RPC, avalanchego's, or sharded REST.",
  }),
  block_time: s
    .duration(
      { description: 'The usual time from block to block.', defaultText: familyText('blockTime') },
      { max: '1d' },
    )
    .optional(),
  final_depth: s
    .whole(
      {
        description:
          'So many blocks on top of one make it final, and its answers are kept; 0 where every block is final at once.',
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
  shards: list(s.whole({ description: 'A shard number.' }, 0, METACHAIN), {
    description: 'multiversx only: the shards whose heads are polled; 4294967295 is the metachain.',
    defaultText: `\`[${YIELDING_DEFAULTS.shards.join(', ')}]\``,
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
    timeout: inherited(pollKeys.timeout),
    concurrency: inherited(pollKeys.concurrency),
    concurrency_per_host: inherited(pollKeys.concurrency_per_host),
  }),
  thresholds,
  endpoints: list(endpoint, { description: 'What is polled.' }).min(1, { error: 'expected at least one endpoint' }),
})

const caller = mapping('Somebody who may use the gateway.', {
  name: s.callerName({ description: 'The only form that is logged or shown. Unique.' }),
  endpoint_id: s.endpointId({
    description:
      'The credential: the first path segment after the network. 16 to 128 characters of A-Z a-z 0-9 . _ ~ -',
  }),
  networks: list(s.name({ description: 'A network.' }), { description: 'The networks it may use.', defaultText: 'all' })
    .min(1, { error: 'expected at least one network' })
    .optional(),
  admin: s.flag({ description: 'May call admin.alias, while `gateway.admin` is true as well.' }).prefault(false),
  rate_limit: mapping('Requests that it may make; each element of a batch counts.', {
    requests: s.whole({ description: 'This many …' }, 1, 1e9),
    per: s.duration({ description: '… in this time.' }, { max: '1d' }),
  }).optional(),
  methods: list(s.allowedMethod({ description: 'A method.' }), {
    description:
      'Methods beyond the default list; `*` as suffix allowed. `*` alone is all but those that rule a node: docs/gateway.md.',
    defaultText: 'none',
  }).default([]),
  cors: list(s.origin({ description: 'An origin.' }), {
    description: 'Origins whose pages may call from a browser; `*` is any. The id is then readable in the page.',
    defaultText: 'none',
  }).default([]),
})

const maintenance = mapping('A planned window: either `schedule` and `duration`, or `from` and `until`.', {
  name: s.title({ description: 'Shown to people. Unique.' }),
  networks: list(s.name({ description: 'A network.' }), {
    description: 'The networks it is about.',
    defaultText: 'all',
  })
    .min(1, { error: 'expected at least one network' })
    .optional(),
  endpoints: list(s.name({ description: 'An endpoint.' }), {
    description: 'Their endpoints it is about.',
    defaultText: 'all',
  })
    .min(1, { error: 'expected at least one endpoint' })
    .optional(),
  schedule: s.cron({ description: 'When it begins, again and again: a cron pattern.', defaultText: 'none' }).optional(),
  duration: s.duration({ description: 'How long each lasts.', defaultText: 'none' }, { max: '30d' }).optional(),
  timezone: s.timeZone({ description: 'The time zone of `schedule`.', defaultText: '`UTC`' }).optional(),
  from: s.instant({ description: 'When it begins, once.', defaultText: 'none' }).optional(),
  until: s.instant({ description: 'When it ends.', defaultText: 'none' }).optional(),
})

export const ConfigFile = z.strictObject(
  {
    server: section("The daemon's own HTTP: page, API, metrics.", {
      listen: s.listen({ description: 'Where it listens; port 0 is any free one.' }).prefault('127.0.0.1:9780'),
      token: s
        .token({
          description:
            'Without it everything on this listener is readable; with it the private parts need `Authorization: Bearer`.',
          defaultText: 'none',
        })
        .optional(),
      public: s
        .flag({
          description:
            'With a token: the page is readable without it (names and states only, never URLs or raw errors).',
        })
        .prefault(true),
      tls: serverTls('`server.listen`'),
    }),
    store: section('The history.', {
      path: s
        .file({ description: 'The SQLite file; `":memory:"` keeps the history only while the daemon runs.' })
        .prefault('heartline.db'),
      retention: section('How long each resolution is kept.', {
        raw: s.duration({ description: 'Every poll.' }).prefault('48h'),
        five_minutes: s.duration({ description: 'Five-minute buckets.' }).prefault('30d'),
        hour: s.duration({ description: 'Hourly buckets.' }).prefault('2y'),
      }),
      max_size: s
        .size({ description: 'The oldest rows go early when the file would grow beyond this.' })
        .prefault('10GiB'),
    }),
    poll: section('How often endpoints are asked.', {
      interval: pollKeys.interval.prefault('15s'),
      timeout: pollKeys.timeout.optional(),
      concurrency: pollKeys.concurrency.prefault(256),
      concurrency_per_host: pollKeys.concurrency_per_host.optional(),
    }),
    networks: list(network, { description: 'What is watched.' }).min(1, { error: 'expected at least one network' }),
    gateway: section('The health-aware gateway.', {
      enabled: s.flag({ description: 'Whether it runs.' }).prefault(false),
      listen: s.listen({ description: 'Where it listens; port 0 is any free one.' }).prefault('127.0.0.1:9781'),
      tls: serverTls('`gateway.listen`'),
      admin: s
        .flag({
          description:
            'admin.alias is refused unless this is true (or `--api-admin-enabled=true` given) and the caller is allowed to.',
        })
        .prefault(false),
      public_url: s
        .publicUrl({ description: 'How callers reach it, where a proxy is in front.', defaultText: 'none' })
        .optional(),
      callers: list(caller, { description: 'Who may use it.', defaultText: 'none' }).default([]),
      cache: section('Answers that cannot change any more.', {
        max_size: s.size({ description: 'Memory for them.' }).prefault('64MiB'),
      }),
      timeout: s
        .duration({ description: 'The whole deadline of one request, all attempts included.' }, { max: '10m' })
        .prefault('10s'),
      body_limit: s.size({ description: 'The largest request body.' }).prefault('1MiB'),
      batch_limit: s.whole({ description: 'The most requests in one JSON-RPC batch.' }, 1, 10_000).prefault(100),
    }),
    maintenance: list(maintenance, { description: 'Planned windows.', defaultText: 'none' }).default([]),
    log: section('The log, on stderr.', {
      level: s
        .choice(['debug', 'info', 'warn', 'error'] as const, { description: 'The least that is logged.' })
        .prefault('info'),
      format: s
        .choice(['json', 'pretty'] as const, { description: 'One JSON object a line, or text for people.' })
        .prefault('json'),
    }),
  },
  { error: 'expected a mapping with at least networks' },
)
export type ConfigFile = z.output<typeof ConfigFile>
