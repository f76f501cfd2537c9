import type { Clock, Timer } from '../clock.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import type { SimulatedChain } from './chain.ts'
import type { Fault, FaultKind } from './fault.ts'

export type FaultSet = ReturnType<typeof createFaultSet>

export interface ActiveFault<F extends Fault = Fault> {
  readonly fault: F
  /** In chain time. */
  readonly since: UnixMs
  readonly until: UnixMs | null
  /** The node's heads when the fault began. */
  readonly tips: ReadonlyMap<Shard, number>
}

export interface Timeline {
  readonly schedule: readonly ScheduledFault[]
  readonly repeatMs?: number
}

export interface ScheduledFault {
  readonly atMs: number
  readonly forMs: number
  readonly fault: Fault
}

interface FaultSetDeps {
  readonly clock: Clock
  readonly chain: SimulatedChain
  readonly tip: (shard: Shard) => number
  readonly changed: () => void
}

/** The active faults of one node, at most one of each kind; a fault may have an end time. */
export function createFaultSet({ clock, chain, tip, changed }: FaultSetDeps) {
  const active = new Map<FaultKind, ActiveFault & { readonly end: Timer | null }>()
  const turns = new Set<Timer>()

  /** Replaces a fault of the same kind. */
  function inject(fault: Fault, forMs?: number): void {
    const tips = new Map(chain.shards.map((shard) => [shard, tip(shard)]))
    active.get(fault.kind)?.end?.cancel()
    const end = forMs === undefined ? null : clock.after(forMs, () => heal(fault.kind))
    const since = chain.now()
    active.set(fault.kind, { fault, since, until: forMs === undefined ? null : since + forMs, tips, end })
    if (fault.kind === 'halt') chain.halt(fault.at)
    changed()
  }

  /** Ends the fault of one kind, or all. */
  function heal(kind?: FaultKind): void {
    for (const [candidate, { end }] of active) {
      if (kind !== undefined && candidate !== kind) continue
      end?.cancel()
      active.delete(candidate)
      if (candidate === 'halt') chain.resume()
    }
    changed()
  }

  function later(delayMs: number, task: () => void): void {
    const timer = clock.after(delayMs, () => {
      turns.delete(timer)
      task()
    })
    turns.add(timer)
  }

  /** Injects each fault at its time, counted from now; repeats every `repeatMs` if given. */
  function follow({ schedule, repeatMs }: Timeline): void {
    for (const { atMs, forMs, fault } of schedule) later(atMs, () => inject(fault, forMs))
    if (repeatMs !== undefined) later(repeatMs, () => follow({ schedule, repeatMs }))
  }

  return {
    inject,
    heal,
    list: (): readonly ActiveFault[] => [...active.values()].map(({ end: _end, ...fault }) => fault),
    get: <K extends FaultKind>(kind: K) => active.get(kind) as ActiveFault<Extract<Fault, { kind: K }>> | undefined,
    has: (kind: FaultKind) => active.has(kind),
    follow,
    /** Cancels scheduled starts and ends. */
    stop(): void {
      for (const timer of turns) timer.cancel()
      for (const { end } of active.values()) end?.cancel()
      turns.clear()
    },
  }
}
