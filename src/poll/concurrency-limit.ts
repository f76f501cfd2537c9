/** Limits how many polls run at once, in total and for each shared limit. */
export function createConcurrencyLimiter(concurrency: number) {
  let most = concurrency
  let running = 0
  const runningByName = new Map<string, number>()

  return {
    configure(next: number): void {
      most = next
    },

    /** Whether a poll with these limits can start if every limit is reduced to this share of itself. */
    hasRoom(limits: readonly SharedLimit[], share: number): boolean {
      if (running >= most * share) return false
      for (const { name, concurrency } of limits) {
        if ((runningByName.get(name) ?? 0) >= concurrency * share) return false
      }
      return true
    },

    acquire(limits: readonly SharedLimit[]): void {
      running++
      for (const { name } of limits) runningByName.set(name, (runningByName.get(name) ?? 0) + 1)
    },

    /** Releases what `acquire` took, even if the limits were reconfigured in the meantime. */
    release(limits: readonly SharedLimit[]): void {
      running--
      for (const { name } of limits) {
        const left = (runningByName.get(name) ?? 1) - 1
        if (left === 0) runningByName.delete(name)
        else runningByName.set(name, left)
      }
    },
  }
}

/** A limit that the endpoints of a host or of a network share. */
export interface SharedLimit {
  readonly name: string
  readonly concurrency: number
}

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>

/** Runs on-demand polls within a share of the limits; each one waits until there is room. */
export function createOnDemandPolls(limiter: ConcurrencyLimiter, share: number, ended: AbortSignal) {
  const waiting = new Set<WaitingPoll>()

  async function work(limits: readonly SharedLimit[], poll: () => Promise<void>): Promise<OnDemandResult> {
    limiter.acquire(limits)
    try {
      await poll()
    } finally {
      limiter.release(limits)
    }
    return { kind: 'done' }
  }

  return {
    /** Polls as soon as there is room; gives up if the signal aborts before that. */
    run(limits: readonly SharedLimit[], signal: AbortSignal, poll: () => Promise<void>): Promise<OnDemandResult> {
      return new Promise((resolve) => {
        const signals = [signal, ended]
        const stopWaiting = (): void => {
          waiting.delete(entry)
          for (const one of signals) one.removeEventListener('abort', giveUp)
        }
        const giveUp = (): void => {
          stopWaiting()
          resolve({ kind: 'no-place' })
        }
        const entry: WaitingPoll = {
          limits,
          start() {
            stopWaiting()
            resolve(work(limits, poll))
          },
        }
        if (signals.some((one) => one.aborted)) return giveUp()
        if (limiter.hasRoom(limits, share)) return entry.start()
        waiting.add(entry)
        for (const one of signals) one.addEventListener('abort', giveUp, { once: true })
      })
    },

    startWaiting(): void {
      for (const entry of waiting) if (limiter.hasRoom(entry.limits, share)) entry.start()
    },
  }
}

export type OnDemandResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown-endpoint' }
  | { readonly kind: 'no-place' }
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }

interface WaitingPoll {
  readonly limits: readonly SharedLimit[]
  start(): void
}
