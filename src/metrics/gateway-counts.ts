import type { Histogram } from './histogram.ts'

/** What is counted of one network: names are looked up one after the other, so that counting allocates nothing. */
export interface OfNetwork {
  readonly operations: Tree<OfOperation>
  /** By endpoint, operation, outcome. */
  readonly attempts: Tree<Tree<Tree<number>>>
  readonly rejections: Tree<number>
  readonly retries: Tree<number>
  readonly cache: { hit: number; miss: number }
  degraded: number
  coalesced: number
  atWork: number
}

export interface OfOperation {
  readonly durations: Histogram
  readonly overheads: Histogram
  timed: boolean
  /** By caller, then by outcome. */
  readonly requests: Tree<Tree<number>>
}

export type Tree<T> = Map<string, T>
