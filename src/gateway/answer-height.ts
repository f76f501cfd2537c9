import type { HeightTag } from './caller-heights.ts'
import type { NodeReply, UpstreamRequest } from './upstream-request.ts'

/** Which of a caller's marks an answer moves, and how high; `null` where it tells of no height. */
export interface AnswerHeight {
  readonly tag: HeightTag
  readonly height: number
  /** It says where the chain is: a lower one than the caller's mark would be a step back. Others only tell of a block. */
  readonly isHead: boolean
}

/** Reads nothing but the one number: a block may be megabytes. */
export function answerHeight({ operation, call }: UpstreamRequest, reply: NodeReply): AnswerHeight | null {
  switch (operation.name) {
    case 'eth_blockNumber':
      return reply.kind === 'result' ? latest(quantityAt(reply.result, 1)) : null
    case 'eth_getBlockByNumber':
      return reply.kind === 'result' ? blockHeight(operation.need, call?.params ?? '', reply.result) : null
    case 'eth_getTransactionByHash':
      return reply.kind === 'result' ? told(quantityOf(reply.result, BLOCK_NUMBER)) : null
    case 'network_status':
      return reply.kind === 'rest' && reply.status === 200 ? latest(decimalOf(reply.body, NONCE)) : null
    case 'block_by_nonce':
      return reply.kind === 'rest' && reply.status === 200 && operation.need.kind === 'height'
        ? told(operation.need.height)
        : null
    case 'eth_chainId':
    case 'net_version':
    case 'web3_clientVersion':
    case 'health.getLiveness':
    case 'health.health':
    case 'health.readiness':
    case 'health.liveness':
    case 'admin.alias':
    case 'block_by_hash':
    case 'network_config':
    case 'alias':
      return null
    case 'other':
      return reply.kind === 'result' ? extraHeight(call?.method ?? '', reply.result) : null
  }
}

/** Whoever has a receipt asks next what became of the accounts in it: there the block of the receipt must be known. */
function extraHeight(method: string, result: Buffer): AnswerHeight | null {
  if (method === 'eth_getTransactionReceipt') return told(quantityOf(result, BLOCK_NUMBER))
  return method === 'eth_getBlockByHash' ? told(quantityOf(result, NUMBER)) : null
}

function blockHeight(need: UpstreamRequest['operation']['need'], params: string, result: Buffer): AnswerHeight | null {
  if (isNull(result)) return null
  if (need.kind === 'height') return told(need.height)
  if (need.kind === 'latest') return latest(quantityOf(result, NUMBER))
  if (!params.includes('"finalized"')) return null
  const height = quantityOf(result, NUMBER)
  return height === null ? null : { tag: 'finalized', height, isHead: true }
}

function latest(height: number | null): AnswerHeight | null {
  return height === null ? null : { tag: 'latest', height, isHead: true }
}

function told(height: number | null): AnswerHeight | null {
  return height === null ? null : { tag: 'latest', height, isHead: false }
}

/** As every node writes it; withdrawals and transactions within a block have no member of this name. */
const NUMBER = Buffer.from('"number":"')
const BLOCK_NUMBER = Buffer.from('"blockNumber":"')
const NO_BLOCK_NUMBER = Buffer.from('"blockNumber":null')
const NONCE = Buffer.from('"erd_nonce":')

function isNull(result: Buffer): boolean {
  return result.length === 4 && result[0] === 0x6e
}

/** After the first `name`; blanks between the two are skipped. */
function quantityOf(text: Buffer, name: Buffer): number | null {
  const at = text.indexOf(name)
  if (at !== -1) return quantityAt(text, at + name.length)
  return isNull(text) ? null : spaced(text, name)
}

/** Nobody writes blanks there but people and tests: the dear way, then. */
function spaced(text: Buffer, name: Buffer): number | null {
  // As a transaction that waits has it, and whoever waits for it asks again and again.
  if (name === BLOCK_NUMBER && text.includes(NO_BLOCK_NUMBER)) return null
  const word = name.toString('latin1', 1, name.indexOf('"', 1))
  if (text.length > 1_048_576 || !text.includes(`"${word}"`)) return null
  try {
    const value: unknown = (JSON.parse(text.toString()) as Record<string, unknown> | null)?.[word]
    return typeof value === 'string' && /^0x[0-9a-fA-F]{1,14}$/.test(value) ? safe(Number(value)) : null
  } catch {
    return null
  }
}

/** `0x…"` that begins at `start`. */
function quantityAt(text: Buffer, start: number): number | null {
  if (text[start] !== 0x30 || text[start + 1] !== 0x78) return null
  let height = 0
  let at = start + 2
  for (; at < start + 16; at++) {
    const digit = hexDigit(text[at] ?? 0)
    if (digit < 0) break
    height = height * 16 + digit
  }
  return at > start + 2 && text[at] === 0x22 ? safe(height) : null
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function decimalOf(text: Buffer, name: Buffer): number | null {
  const found = text.indexOf(name)
  if (found === -1) return null
  let at = found + name.length
  while (text[at] === 0x20) at++
  const first = at
  let height = 0
  for (; at < first + 16; at++) {
    const digit = (text[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) break
    height = height * 10 + digit
  }
  return at > first && at < first + 16 ? safe(height) : null
}

function safe(height: number): number | null {
  return Number.isSafeInteger(height) ? height : null
}
