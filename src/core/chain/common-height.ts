import type { UnixMs } from '../time.ts'

export interface ComparedPoll {
  readonly endpoint: string
  /** The newest height that it read. */
  readonly newest: number
  /** Whether its newest block is not known to be the majority's, nor another one. */
  readonly isUnknown: boolean
  /** It replaced a block that it had, or went back further than a pool does. */
  readonly hasMoved: boolean
  /** It has another block than the majority, perhaps not confirmed yet. */
  readonly isAgainst: boolean
}

export interface CommonHeightDeps {
  /** Number of recently answering endpoints that have reached this height. */
  readonly reached: (height: number) => number
  /** Height of the reference head; `null` if there is none. */
  readonly agreedHeight: () => number | null
  /** Number of endpoints with a block at this height, and whether their blocks differ. */
  readonly reportsAt: (height: number) => { readonly count: number; readonly differ: boolean }
  /** Whether it is confirmed that this endpoint has another block than the majority. */
  readonly isForked: (endpoint: string) => boolean
  /** How far the common height may move back for an endpoint that is behind. */
  readonly maxBacktrackBlocks: () => number
  /** How long it waits for the blocks of all endpoints. */
  readonly maxWaitMs: () => number
}

/** In times of `maxWaitMs`: an endpoint that remains behind costs the others a block in one of seven polls. */
const REST_WAITS = 5

/**
 * The height at which all endpoints are compared: polls at different times seldom see the same head. Usually that is
 * the reference height. Endpoints that are behind it are compared in turn, each at its own height.
 */
export function createCommonHeight(deps: CommonHeightDeps) {
  const { reached, agreedHeight, reportsAt, isForked, maxBacktrackBlocks, maxWaitMs } = deps
  let common: { readonly height: number; readonly of: string | null; since: UnixMs } | null = null
  /** Endpoints that are behind and must be compared, with their height; the one that has waited longest is first. */
  const waiting = new Map<string, number>()
  /** When the last comparison at an endpoint's own height began. */
  const comparedAt = new Map<string, UnixMs>()

  function isBehind(height: number, agreed: number): boolean {
    return height < agreed && agreed - height <= maxBacktrackBlocks()
  }

  /** Whether the endpoints at the common height have not reported yet. */
  function isOpen(at: UnixMs): boolean {
    if (common === null) return false
    const waitedMs = at - common.since
    const { count, differ } = reportsAt(common.height)
    const missing = reached(common.height - maxBacktrackBlocks()) - count
    // Endpoints that wait to be compared below the reference height will not report there.
    if (waitedMs < maxWaitMs() && missing > (common.of === null ? waiting.size : 0)) return true
    // Stays longer where blocks differ: both sides repeat their blocks soonest at the same height.
    const isConfirmed = common.of !== null && isForked(common.of)
    return differ && !isConfirmed && waitedMs < 2 * maxWaitMs()
  }

  function moveTo(height: number, of: string | null, at: UnixMs): void {
    if (of !== null) {
      waiting.delete(of)
      comparedAt.set(of, at)
    }
    if (height !== common?.height || of !== common.of) common = { height, of, since: at }
  }

  return {
    /** `null` until endpoints agree on a height. */
    get height(): number | null {
      return common?.height ?? null
    },
    /** Whether it is the height of an endpoint that is behind. */
    get isOwn(): boolean {
      return (common?.of ?? null) !== null
    },

    /** Call it for every poll, once its blocks are reported. */
    update({ endpoint, newest, isUnknown, hasMoved, isAgainst }: ComparedPoll, at: UnixMs): void {
      const agreed = agreedHeight()
      if (agreed === null) return
      const restMs = (hasMoved || isAgainst ? 2 : REST_WAITS) * maxWaitMs()
      const isResting = at - (comparedAt.get(endpoint) ?? Number.NEGATIVE_INFINITY) < restMs
      if (!isUnknown || !isBehind(newest, agreed)) waiting.delete(endpoint)
      else if (!isResting && common?.of !== endpoint) waiting.set(endpoint, newest)
      const isUrgent = hasMoved && waiting.has(endpoint) && (common?.of ?? null) === null
      if (isOpen(at) && !(isUrgent && !reportsAt(common?.height ?? newest).differ)) return
      // In turn with the reference height, where the others are compared.
      const next = isUrgent ? endpoint : common?.of === null ? waiting.keys().next().value : undefined
      const height = next === undefined ? undefined : waiting.get(next)
      if (next === undefined || height === undefined) moveTo(agreed, null, at)
      else moveTo(height, next, at)
    },

    forget(endpoint: string): void {
      waiting.delete(endpoint)
      comparedAt.delete(endpoint)
    },

    shift(ms: number): void {
      if (common !== null) common.since += ms
      for (const [endpoint, at] of comparedAt) comparedAt.set(endpoint, at + ms)
    },
  }
}
