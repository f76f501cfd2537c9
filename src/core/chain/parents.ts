import type { Head } from '../head.ts'
import type { Block } from './block-reports.ts'

export interface ParentsDeps {
  /** Whether somebody told this block. */
  readonly isTold: (height: number, hash: string) => boolean
}

/**
 * Whose word on the parent of its block is taken for a block that it has. A node behind a cache, or one for tests, may name
 * parents that never were: compared with real blocks they would be a fork of somebody. So an endpoint is believed only once a
 * parent that it named was a block that was told, and until one is not the block that it stood at itself. Others are asked.
 */
export interface ParentTrust {
  /** Whether the parent of a head that was just read is believed; `before` is the endpoint's previous head. */
  isTrusted(endpoint: string, before: Head | undefined, head: Head): boolean
  /** As `believes`, and keeps in mind what this head has shown. */
  take(endpoint: string, before: Head | undefined, head: Head): boolean
  forget(endpoint: string): void
}

export function createParentTrust({ isTold }: ParentsDeps): ParentTrust {
  const proven = new Set<string>()

  /** Whether this head shows that the endpoint's blocks follow each other; `null` where it shows nothing. */
  function shown(before: Head | undefined, { height, parentHash }: Head): boolean | null {
    if (before !== undefined && height === before.height + 1) return parentHash === before.hash
    return isTold(height - 1, parentHash) ? true : null
  }

  function believes(endpoint: string, { height, parentHash }: Head, isProven: boolean | null): boolean {
    return height !== 0 && parentHash !== '' && (isProven ?? proven.has(endpoint))
  }

  return {
    isTrusted: (endpoint, before, head) => believes(endpoint, head, shown(before, head)),

    take(endpoint, before, head) {
      const isProven = shown(before, head)
      const isBelieved = believes(endpoint, head, isProven)
      if (isProven === true) proven.add(endpoint)
      else if (isProven === false) proven.delete(endpoint)
      return isBelieved
    },

    forget: (endpoint) => void proven.delete(endpoint),
  }
}

/** The block that this head names as its parent. */
export function parentOf({ height, parentHash }: Head): Block {
  return { height: height - 1, hash: parentHash }
}
