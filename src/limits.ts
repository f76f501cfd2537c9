import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** Divides the file descriptors of the process, so that connections to one port cannot use them all. */
export function connectionCaps(descriptors: number): ConnectionCaps {
  const reserve = Math.min(Math.ceil(descriptors / 2), LARGEST_RESERVE)
  const shared = descriptors - reserve
  const page = Math.max(1, Math.min(Math.floor(shared / 4), LARGEST_PAGE))
  const gateway = Math.max(1, Math.min(shared - page, LARGEST_GATEWAY))
  return { reserve, page, gateway, upstream: Math.floor(reserve / 2) }
}

export interface ConnectionCaps {
  /** Descriptors left for connections to nodes, the store, files and child processes. */
  readonly reserve: number
  readonly page: number
  readonly gateway: number
  /** The part of the reserve for the gateway's connections to all nodes together. */
  readonly upstream: number
}

/** Enough for 128 connections of the gateway to each of 64 endpoints. */
const LARGEST_RESERVE = 16_384
const LARGEST_PAGE = 1024
const LARGEST_GATEWAY = 8192
/** The usual default on Linux. */
const USUAL_LIMIT = 1024

/** Soft limit on open files, which Node raises to the hard limit when it starts. */
export function descriptorLimit(): number {
  try {
    return softLimitOf(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    // Not Linux: the diagnostic report also contains the limit, but takes milliseconds to create.
    const report = process.report?.getReport() as { userLimits?: { open_files?: { soft?: unknown } } } | undefined
    const soft = Number(report?.userLimits?.open_files?.soft)
    return Number.isInteger(soft) && soft > 0 ? soft : USUAL_LIMIT
  }
}

/** `Max open files            1024                 524288               files` */
export function softLimitOf(limits: string): number {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(limits)?.[1]
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft ?? USUAL_LIMIT)
}

/** Bytes that the process may use: the limit of its container, or the memory of the machine. */
export function memoryLimit(): number {
  // 0 or more than the machine has if there is no limit.
  const ofContainer = process.constrainedMemory()
  return ofContainer > 0 ? Math.min(ofContainer, totalmem()) : totalmem()
}

/**
 * Limit in bytes of nodes' large answers that are being received, and as many again that callers have not read yet. At least one of
 * the largest fits.
 */
export function largeAnswerBytes(memory: number): number {
  return Math.max(LEAST_ANSWERS, Math.min(Math.floor(memory / 8), MOST_ANSWERS))
}

const LEAST_ANSWERS = 64 * 2 ** 20
const MOST_ANSWERS = 512 * 2 ** 20
