import type { Reply, UpstreamRequest } from '../upstream-request.ts'

/** What an answer tells of, as far as it decides how long it may be kept. */
export type CacheEntryKind =
  /** Of a block, or of something in it. */
  | { readonly kind: 'block'; readonly height: number }
  /** Of the network itself. */
  | { readonly kind: 'network' }

/** Whether its answer may be kept at all, whatever it is. Tags are each time another block; what is asked of one endpoint is its own. */
export function isCacheable({ operation: { name, need }, call }: UpstreamRequest): boolean {
  if (call?.isNotification === true) return false
  switch (name) {
    case 'eth_getBlockByNumber':
    case 'block_by_nonce':
      return need.kind === 'height'
    case 'eth_getTransactionByHash':
    case 'block_by_hash':
    case 'eth_chainId':
    case 'net_version':
      return need.kind !== 'endpoint'
    case 'eth_blockNumber':
    case 'web3_clientVersion':
    case 'health.getLiveness':
    case 'health.health':
    case 'health.readiness':
    case 'health.liveness':
    case 'admin.alias':
    case 'network_status':
    case 'network_config':
    case 'alias':
    case 'other':
      return false
  }
}

/**
 * What may be kept of this answer to a question that is keepable; `null`: nothing. An answer is kept only where it can be seen to be
 * to the question: that costs a search of its bytes, and no parsing where JSON-RPC is spoken.
 */
export function readCacheable(question: UpstreamRequest, reply: Reply, chainId: number | null): CacheEntryKind | null {
  switch (reply.kind) {
    case 'result':
      return readResult(question, reply.result, chainId)
    case 'rest':
      return reply.status === 200 ? readBlock(question, reply.body) : null
    case 'error':
    case 'rejected':
      return null
  }
}

function readResult(
  { operation, canonical }: UpstreamRequest,
  result: Buffer,
  chainId: number | null,
): CacheEntryKind | null {
  // `null`, and whatever else is no object and no text.
  if (result.length < 3 || (result[0] !== BRACE && result[0] !== QUOTE)) return null
  const { name, need } = operation
  if (name === 'eth_chainId' || name === 'net_version') {
    return chainId !== null && Number(textOf(result) || Number.NaN) === chainId ? NETWORK : null
  }
  const asked = canonical.slice(2, canonical.indexOf('"', 2))
  if (name === 'eth_getBlockByNumber') {
    return need.kind === 'height' && result.includes(`"number":"${asked}"`, 0, 'latin1') ? block(need.height) : null
  }
  if (!result.includes(`"hash":"${asked}"`, 0, 'latin1')) return null
  const height = quantityAfter(result, BLOCK_NUMBER)
  return height === null ? null : block(height)
}

const BRACE = 0x7b
const QUOTE = 0x22
const NETWORK: CacheEntryKind = { kind: 'network' }
/** Within a string its quotes would be escaped: it is a member, and no other in a transaction has this name. */
const BLOCK_NUMBER = Buffer.from('"blockNumber":"0x')

function block(height: number): CacheEntryKind {
  return { kind: 'block', height }
}

/** What stands between the quotes. */
function textOf(result: Buffer): string {
  return result.toString('latin1', 1, result.length - 1)
}

/** `null` where it is null, as in a transaction that waits, or no safe number. */
function quantityAfter(text: Buffer, name: Buffer): number | null {
  const found = text.indexOf(name)
  if (found === -1) return null
  const start = found + name.length
  const end = text.indexOf(QUOTE, start)
  if (end <= start || end > start + 14) return null
  const height = Number(`0x${text.toString('latin1', start, end)}`)
  return Number.isSafeInteger(height) ? height : null
}

/** MultiversX's answers are JSON of a shape of their own: a block that was reverted is told all the same. */
function readBlock({ operation: { name, need }, canonical }: UpstreamRequest, body: Buffer): CacheEntryKind | null {
  const read = readEnvelope(body)
  if (read === null || read.status !== 'on-chain' || !Number.isSafeInteger(read.nonce)) return null
  const height = read.nonce as number
  const isAsked =
    name === 'block_by_nonce'
      ? need.kind === 'height' && need.height === height
      : typeof read.hash === 'string' && canonical.includes(`/by-hash/${read.hash.toLowerCase()}`)
  return isAsked ? block(height) : null
}

interface RestBlock {
  readonly nonce?: unknown
  readonly hash?: unknown
  readonly status?: unknown
}

function readEnvelope(body: Buffer): RestBlock | null {
  try {
    const envelope = JSON.parse(body.toString()) as {
      code?: unknown
      data?: { block?: RestBlock | null } | null
    } | null
    return envelope?.code === 'successful' ? (envelope.data?.block ?? null) : null
  } catch {
    return null
  }
}
