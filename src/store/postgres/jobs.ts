import type { CommonOptions } from '../engine.ts'
import type { StoreJob } from '../store.ts'
import type { Database } from './database.ts'
import { createPartitions } from './partitions.ts'
import { createRetainer } from './retainer.ts'
import { createRollUp } from './roll-up.ts'

export interface JobsDeps extends Pick<CommonOptions, 'retention' | 'maxSizeBytes' | 'log'> {
  readonly database: Database
  /** Aborts when the store closes. */
  readonly signal: AbortSignal
}

/** Any number: one daemon at a time runs a job. */
const JOBS_LOCK = 7_241_994

/** The calendar jobs, one after the other, and each in one daemon at a time. */
export function createJobs({ database, retention, maxSizeBytes, log, signal: closing }: JobsDeps) {
  const rollUp = createRollUp(database)
  const retainer = createRetainer({ database, partitions: createPartitions(database), retention, maxSizeBytes, log })
  let last: Promise<unknown> = Promise.resolve()

  async function runJob(job: StoreJob, now: number, signal: AbortSignal): Promise<void> {
    switch (job) {
      case 'roll-up':
        await retainer.judge(now)
        return rollUp.rollTo(now, signal)
      case 'retention': {
        const verdict = await retainer.judge(now)
        await rollUp.rollTo(now, signal)
        return retainer.pass(now, verdict !== 'doubted', signal)
      }
      case 'optimise':
        // Autovacuum would wait until a tenth of a table has changed.
        await database.query('ANALYZE endpoints, five_minutes, hours, days, incidents, notifications')
        return
      case 'integrity':
        // PostgreSQL's own: `initdb --data-checksums` and pg_amcheck.
        return
    }
  }

  async function runAlone(job: StoreJob, now: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    const isDone = await database.exclusively(JOBS_LOCK, async () => {
      await runJob(job, now, signal)
      if (signal.aborted) return false
      await database.query(
        'INSERT INTO jobs (job, ended_ms) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET ended_ms = excluded.ended_ms',
        [job, now],
      )
      return true
    })
    // Another daemon is at it.
    return isDone ?? true
  }

  return {
    run(job: StoreJob, now: number, signal?: AbortSignal): Promise<boolean> {
      const ended = signal === undefined ? closing : AbortSignal.any([signal, closing])
      const run = last.then(() => runAlone(job, now, ended))
      last = run.catch(() => undefined)
      return run
    },
  }
}
