import type { Block } from './branches.ts'
import type { Head } from './head.ts'

export interface ParentsDeps {
  /** Whether somebody told this block. */
  readonly isTold: (block: Block) => boolean
}

/**
 * Whose word on the parent of its block is taken for a block that it has. A node behind a cache, or one for tests, may name
 * parents that never were: compared with real blocks they would be a fork of somebody. So an endpoint is believed only once a
 * parent that it named was a block that was told, and until one is not the block that it stood at itself. Others are asked.
 */
export interface Parents {
  /** The parent of a head that was just read, where it is believed; `before` is the endpoint's previous head. */
  believed(endpoint: string, before: Head | undefined, head: Head): readonly Block[]
  /** As `believed`, and keeps in mind what this head has shown. */
  take(endpoint: string, before: Head | undefined, head: Head): readonly Block[]
  forget(endpoint: string): void
}

export function createParents({ isTold }: ParentsDeps): Parents {
  const proven = new Set<string>()

  /** Whether this head shows that the endpoint's blocks follow each other; `null` where it shows nothing. */
  function shown(before: Head | undefined, { height, parentHash }: Head): boolean | null {
    if (before !== undefined && height === before.height + 1) return parentHash === before.hash
    return isTold({ height: height - 1, hash: parentHash }) ? true : null
  }

  function believed(endpoint: string, before: Head | undefined, head: Head): readonly Block[] {
    const { height, parentHash } = head
    if (height === 0 || parentHash === '') return []
    return (shown(before, head) ?? proven.has(endpoint)) ? [{ height: height - 1, hash: parentHash }] : []
  }

  return {
    believed,

    take(endpoint, before, head) {
      const parent = believed(endpoint, before, head)
      const isProven = shown(before, head)
      if (isProven === true) proven.add(endpoint)
      else if (isProven === false) proven.delete(endpoint)
      return parent
    },

    forget: (endpoint) => void proven.delete(endpoint),
  }
}
