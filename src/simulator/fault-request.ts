import { z } from 'zod'
import { BAD_HEIGHTS, type Fault } from './fault.ts'

/** A fault as people and scripts write it: `{ "kind": "slow", "delay": "2s" }`. */

const DURATION = /^(-?\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/
const MS_OF = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

/** `500ms`, `15s`, `2m`, `1h` in milliseconds; `null` if invalid. */
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
const GIBIBYTE = 2 ** 30

const kind = <K extends string>(name: K) => z.literal(name)
const bare = <K extends string>(name: K) => z.strictObject({ kind: kind(name) })

const FaultBody = z.discriminatedUnion('kind', [
  z.strictObject({ kind: kind('stall'), ...OnShard }),
  z.strictObject({ kind: kind('lag'), blocks: Blocks, gradual: z.boolean().default(false), ...OnShard }),
  z.strictObject({ kind: kind('lie'), blocks: Blocks.default(1_000_000_000), ...OnShard }),
  z.strictObject({
    kind: kind('fork'),
    depth: z.int().min(1).max(1000).default(3),
    at: Height.exactOptional(),
    branch: z.int().min(1).max(1000).exactOptional(),
    ...OnShard,
  }),
  z.strictObject({ kind: kind('regress'), blocks: Blocks, ...OnShard }),
  z.strictObject({ kind: kind('jitter'), blocks: z.int().min(1).max(1000).default(2), ...OnShard }),
  z.strictObject({ kind: kind('halt'), at: Height.exactOptional() }),
  z
    .strictObject({ kind: kind('wrong-chain'), chain_id: z.int().min(1) })
    .transform((body) => ({ kind: body.kind, chainId: body.chain_id })),
  z
    .strictObject({ kind: kind('clock-skew'), by: duration(-1e12) })
    .transform((body) => ({ kind: body.kind, byMs: body.by })),
  bare('unhealthy'),
  z
    .strictObject({
      kind: kind('failing-check'),
      name: z.string().min(1).max(100_000).default('router'),
      contiguous_failures: z.int().min(1).default(5),
      tolerated: z.boolean().default(true),
    })
    .transform(({ contiguous_failures, ...body }) => ({ ...body, contiguousFailures: contiguous_failures })),
  bare('frozen-heartbeat'),
  bare('no-evidence'),
  bare('bootstrapping'),
  bare('refuse'),
  bare('reset'),
  bare('hang'),
  z.strictObject({ kind: kind('slow'), delay: Period }).transform((body) => ({ kind: body.kind, delayMs: body.delay })),
  z
    .strictObject({ kind: kind('drip'), bytes: z.int().min(1).default(1), every: Period.prefault('100ms') })
    .transform(({ every, ...body }) => ({ ...body, everyMs: every })),
  z
    .strictObject({ kind: kind('endless'), every: Period.prefault('100ms') })
    .transform((body) => ({ kind: body.kind, everyMs: body.every })),
  z
    .strictObject({ kind: kind('flap'), up: Period, down: Period })
    .transform((body) => ({ kind: body.kind, upMs: body.up, downMs: body.down })),
  bare('truncated'),
  bare('not-http'),
  z.strictObject({ kind: kind('http'), status: z.int().min(400).max(599).default(503) }),
  z
    .strictObject({ kind: kind('rate-limit'), retry_after: Period.nullable().prefault('5s') })
    .transform((body) => ({ kind: body.kind, retryAfterMs: body.retry_after })),
  bare('redirect'),
  bare('valid-503'),
  bare('error-200'),
  bare('empty'),
  bare('html'),
  bare('garbage'),
  z.strictObject({
    kind: kind('huge'),
    bytes: z
      .int()
      .min(1)
      .max(4 * GIBIBYTE)
      .default(GIBIBYTE),
  }),
  z.strictObject({
    kind: kind('gzip-bomb'),
    bytes: z
      .int()
      .min(1)
      .max(4 * GIBIBYTE)
      .default(GIBIBYTE),
  }),
  z.strictObject({ kind: kind('deep'), levels: z.int().min(1).max(1_000_000).default(100_000) }),
  bare('proto'),
  bare('wrong-id'),
  z.strictObject({ kind: kind('bad-height'), value: z.enum(BAD_HEIGHTS).default('unsafe') }),
])

export const FAULT_KINDS: readonly Fault['kind'][] = FaultBody.options.map((option) => {
  const shape = 'in' in option ? (option.in as { shape: { kind: { value: Fault['kind'] } } }).shape : option.shape
  return shape.kind.value
})

export type FaultRequest =
  | { readonly ok: true; readonly fault: Fault; readonly forMs: number | null }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Reads `{ kind, …, for? }`. */
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
  return { ok: true, fault: fault.data satisfies Fault, forMs: forMs.data ?? null }
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
