import * as z from 'zod'

/** Every fault of a simulated node. Requests write `{ "kind": "slow", "delay": "2s" }`; durations become `…Ms`. */
export type Fault = Readonly<z.output<typeof FaultBody>>
export type FaultKind = Fault['kind']
export type HeadFault = Extract<Fault, { readonly shard?: number }>

export const BAD_HEIGHTS = ['negative', 'decimal', 'unsafe', 'latest'] as const
export type BadHeight = (typeof BAD_HEIGHTS)[number]

const DURATION = /^(-?\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/
const MS_OF = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

/** Parses `500ms`, `15s`, `2m`, `1h` to milliseconds; `null` if invalid. */
function parseDuration(text: string): number | null {
  const [, count, unit] = DURATION.exec(text) ?? []
  return unit === undefined ? null : Math.round(Number(count) * MS_OF[unit as keyof typeof MS_OF])
}

function formatDuration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

function duration(minMs: number) {
  return z.string().transform((text, context): number => {
    const ms = parseDuration(text)
    if (ms !== null && ms >= minMs) return ms
    context.addIssue({ code: 'custom', message: 'expected a duration such as 500ms, 15s, 2m or 1h' })
    return z.NEVER
  })
}

const Period = duration(1)
const Blocks = z.int().min(1).max(1e12)
const OnShard = { shard: z.int().min(0).max(0xffff_ffff).exactOptional() }
const Height = z.int().min(1).max(1e12)
const Size = z
  .int()
  .min(1)
  .max(2 ** 32)
  .default(2 ** 30)

const kind = <K extends string>(name: K) => z.literal(name)
const bare = <K extends string>(name: K) => z.strictObject({ kind: kind(name) })

const FaultBody = z.discriminatedUnion('kind', [
  // Faults in the node's view of the chain. The head does not advance:
  z.strictObject({ kind: kind('stall'), ...OnShard }),
  // The head is this many blocks behind, at once or (`gradual`) by not advancing until then.
  z.strictObject({ kind: kind('lag'), blocks: Blocks, gradual: z.boolean().default(false), ...OnShard }),
  // The node reports this many blocks that do not exist yet.
  z.strictObject({ kind: kind('lie'), blocks: Blocks.default(1_000_000_000), ...OnShard }),
  // The last `depth` blocks, or all blocks from height `at`, and all later ones differ from the other nodes'. Nodes
  // with the same `branch` and start height are on the same branch, also across processes.
  z.strictObject({
    kind: kind('fork'),
    depth: z.int().min(1).max(1000).default(3),
    at: Height.exactOptional(),
    branch: z.int().min(1).max(1000).exactOptional(),
    ...OnShard,
  }),
  // The head goes back this many blocks, as after restoring a backup, and catches up at twice the block rate.
  z.strictObject({ kind: kind('regress'), blocks: Blocks, ...OnShard }),
  // A pool of nodes behind one URL: each response is 0 to `blocks` behind.
  z.strictObject({ kind: kind('jitter'), blocks: z.int().min(1).max(1000).default(2), ...OnShard }),
  // The whole chain halts now, or after block `at` (of the first shard), until the fault is healed.
  z.strictObject({ kind: kind('halt'), at: Height.exactOptional() }),

  // Faults in the node's reports about itself.
  z
    .strictObject({ kind: kind('wrong-chain'), chain_id: z.int().min(1) })
    .transform((body) => ({ kind: body.kind, chainId: body.chain_id })),
  // The node's clock is ahead by this much, or behind if negative.
  z
    .strictObject({ kind: kind('clock-skew'), by: duration(-1e12) })
    .transform((body) => ({ kind: body.kind, byMs: body.by })),
  // Ethereum, and a MultiversX observer: the node reports that it is syncing, with this many blocks to go.
  z.strictObject({ kind: kind('syncing'), blocks: Blocks.default(1000) }),
  // Ethereum, and a MultiversX observer: the node reports this many peers.
  z.strictObject({ kind: kind('few-peers'), peers: z.int().min(0).max(1e6).default(0) }),
  // Ethereum: the consensus node is this many slots behind, or does not work.
  z.strictObject({ kind: kind('consensus-syncing'), slots: Blocks.default(320) }),
  bare('consensus-down'),
  // The questions of the liveness check are not offered, as by many providers.
  bare('not-offered'),
  // Avalanche: `healthy` is false.
  bare('unhealthy'),
  // Avalanche: one check fails; unless it is `tolerated`, the node is unhealthy.
  z
    .strictObject({
      kind: kind('failing-check'),
      name: z.string().min(1).max(100_000).default('router'),
      contiguous_failures: z.int().min(1).default(5),
      tolerated: z.boolean().default(true),
    })
    .transform(({ contiguous_failures, ...body }) => ({ ...body, contiguousFailures: contiguous_failures })),
  // Avalanche: the node handles no network messages.
  bare('frozen-heartbeat'),
  // Avalanche: the node is healthy, but its map of checks is empty.
  bare('no-evidence'),
  // Avalanche: the node's chains do not respond yet.
  bare('bootstrapping'),

  // Transport faults. The port is closed, including the control interface:
  bare('refuse'),
  // Connections are reset before any response.
  bare('reset'),
  // Requests are accepted and never answered.
  bare('hang'),
  z.strictObject({ kind: kind('slow'), delay: Period }).transform((body) => ({ kind: body.kind, delayMs: body.delay })),
  // The response arrives a few bytes at a time.
  z
    .strictObject({ kind: kind('drip'), bytes: z.int().min(1).default(1), every: Period.prefault('100ms') })
    .transform(({ every, ...body }) => ({ ...body, everyMs: every })),
  // The response never ends: spaces follow it, one by one.
  z
    .strictObject({ kind: kind('endless'), every: Period.prefault('100ms') })
    .transform((body) => ({ kind: body.kind, everyMs: body.every })),
  // The node responds for `up`, then resets connections for `down`, repeatedly.
  z
    .strictObject({ kind: kind('flap'), up: Period, down: Period })
    .transform((body) => ({ kind: body.kind, upMs: body.up, downMs: body.down })),
  // The connection is closed in the middle of the response.
  bare('truncated'),
  bare('not-http'),

  // Content faults. An HTTP error status with a text:
  z.strictObject({ kind: kind('http'), status: z.int().min(400).max(599).default(503) }),
  // HTTP 429, with Retry-After unless it is null.
  z
    .strictObject({ kind: kind('rate-limit'), retry_after: Period.nullable().prefault('5s') })
    .transform((body) => ({ kind: body.kind, retryAfterMs: body.retry_after })),
  bare('redirect'),
  // The correct body with HTTP 503.
  bare('valid-503'),
  // An error in a response with HTTP 200.
  bare('error-200'),
  bare('empty'),
  bare('html'),
  // Random bytes with a JSON content type.
  bare('garbage'),
  // The body has this many bytes, streamed as fast as the client reads.
  z.strictObject({ kind: kind('huge'), bytes: Size }),
  // The body is compressed although not requested, and has this many bytes when decompressed.
  z.strictObject({ kind: kind('gzip-bomb'), bytes: Size }),
  z.strictObject({ kind: kind('deep'), levels: z.int().min(1).max(1_000_000).default(100_000) }),
  // `__proto__` and `constructor` members in every object.
  bare('proto'),
  // The response to another request.
  bare('wrong-id'),
  z.strictObject({ kind: kind('bad-height'), value: z.enum(BAD_HEIGHTS).default('unsafe') }),
])

export const FAULT_KINDS: readonly FaultKind[] = FaultBody.options.map((option) => {
  const shape = 'in' in option ? (option.in as { shape: { kind: { value: FaultKind } } }).shape : option.shape
  return shape.kind.value
})

export type FaultRequest =
  | { readonly ok: true; readonly fault: Fault; readonly forMs: number | null }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Parses `{ kind, …, for? }`. */
export function readFaultRequest(value: unknown): FaultRequest {
  const { for: forText, ...body } =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const forMs = Period.optional().safeParse(forText)
  const fault = FaultBody.safeParse(body)
  const problems = [
    ...(fault.success ? [] : fault.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)),
    ...(forMs.success ? [] : forMs.error.issues.map(({ message }) => `for: ${message}`)),
  ]
  if (!fault.success || !forMs.success) return { ok: false, problems }
  if (fault.data.kind === 'refuse' && forMs.data === undefined) {
    return { ok: false, problems: ['for: required, because a closed port cannot be reopened by a request'] }
  }
  return { ok: true, fault: fault.data, forMs: forMs.data ?? null }
}

/** The inverse of `readFaultRequest`. */
export function writeFault(fault: Fault): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fault).map(([name, value]: [string, unknown]) => {
      const isDuration = name.endsWith('Ms')
      const key = (isDuration ? name.slice(0, -2) : name).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      return [key, isDuration && typeof value === 'number' ? formatDuration(value) : value]
    }),
  )
}
