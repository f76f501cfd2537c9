import type { UnixMs } from '../time.ts'
import type { Block, Branch, HeightReports } from './block-reports.ts'

/**
 * The majority's branch of `eligible` endpoints; `split` if no branch can get a majority; `null` while reports are
 * missing. A branch of which all endpoints are known to be on another one than the majority is no side of a split.
 */
export function decisionOf<S>(
  { branches, count }: HeightReports<S>,
  eligible: number,
  isForked: (endpoint: string) => boolean,
): Branch<S> | 'split' | null {
  const largest = largestOf(branches)
  const agreeing = largest?.reports.length ?? 0
  if (largest !== null && agreeing * 2 > eligible) return largest
  const open = eligible - count
  if ((agreeing + open) * 2 > eligible) return null
  return branches.filter((branch) => !allForked(branch, isForked)).length > 1 ? 'split' : null
}

/** Whether all endpoints with this block are known to be on another branch than the majority. */
export function allForked({ reports }: Branch<unknown>, isForked: (endpoint: string) => boolean): boolean {
  return reports.every(({ by }) => isForked(by.endpoint))
}

/** Whether more than half of `needed` endpoints have reported the branch after `since`. */
export function isRepeated({ reports }: Branch<unknown>, since: UnixMs, needed: number): boolean {
  let count = 0
  for (const { at } of reports) if (at > since && ++count * 2 > needed) return true
  return false
}

/** Whether at least as many other endpoints have another block than the endpoint and those with its block. */
export function isMinority(branches: readonly Branch<unknown>[], hash: string, endpoint: string): boolean {
  if (branches.every((branch) => branch.hash === hash)) return false
  const others = ({ reports }: Branch<unknown>) =>
    reports.length - Number(reports.some(({ by }) => by.endpoint === endpoint))
  const own = branches.find((branch) => branch.hash === hash)
  const votes = 1 + (own === undefined ? 0 : others(own))
  return branches.some((branch) => branch !== own && others(branch) >= votes)
}

/** Whether another endpoint has reported one of these blocks. Those below `from` show nothing: every branch has them. */
export function isElsewhere(
  blocks: readonly Block[],
  from: number,
  blocksAt: (height: number) => readonly Branch<unknown>[],
  endpoint: string,
): boolean {
  return blocks.some(({ height, hash }) => {
    const branch = height < from ? undefined : blocksAt(height).find((one) => one.hash === hash)
    return branch?.reports.some(({ by }) => by.endpoint !== endpoint) === true
  })
}

/** Whether only other blocks were reported at its height. The only endpoint is compared with its own earlier ones. */
export function isReplaced(known: readonly Branch<unknown>[], hash: string): boolean {
  return known.length > 0 && !known.some((block) => block.hash === hash)
}

/** Several branches without a majority. */
export interface Fork {
  readonly height: number
  readonly since: UnixMs
  readonly branches: readonly { readonly hash: string; readonly endpoints: readonly string[] }[]
}

/** Largest branch first. */
export function sidesOf(all: HeightReports<unknown> | undefined): Fork['branches'] {
  return (all?.branches ?? [])
    .map(({ hash, reports }) => ({ hash, endpoints: reports.map(({ by }) => by.endpoint).sort() }))
    .sort((a, b) => b.endpoints.length - a.endpoints.length || (String(a.endpoints) < String(b.endpoints) ? -1 : 1))
}

function largestOf<S>(branches: readonly Branch<S>[]): Branch<S> | null {
  let largest: Branch<S> | null = null
  for (const branch of branches) if (branch.reports.length > (largest?.reports.length ?? 0)) largest = branch
  return largest
}
