import { readFileSync } from 'node:fs'

/**
 * Divides the file descriptors of the process. Without a cap, connections to one port would use all of them: then polls,
 * the store and the other port fail too.
 */
export function connectionCaps(descriptors: number): ConnectionCaps {
  const reserve = Math.min(Math.ceil(descriptors / 2), LARGEST_RESERVE)
  const shared = descriptors - reserve
  const page = Math.max(1, Math.min(Math.floor(shared / 4), LARGEST_PAGE))
  return { reserve, page, gateway: Math.max(1, Math.min(shared - page, LARGEST_GATEWAY)) }
}

export interface ConnectionCaps {
  /** Descriptors left for connections to nodes, the store, files and child processes. */
  readonly reserve: number
  /** Maximum number of connections to the page's listener. */
  readonly page: number
  /** Maximum number of connections to the gateway's listener. */
  readonly gateway: number
}

/** 128 connections to each of more than a hundred endpoints. */
const LARGEST_RESERVE = 16_384
const LARGEST_PAGE = 1024
const LARGEST_GATEWAY = 8192
/** The usual default of Linux and macOS. */
const USUAL_LIMIT = 1024

/** The soft limit of open files, which Node raises to the hard limit when it starts. */
export function descriptorLimit(): number {
  try {
    return softLimitOf(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    // Not Linux. The report takes milliseconds, but names the limit elsewhere too.
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
