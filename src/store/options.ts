import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Written } from './batch-sender.ts'
import type { Retention } from './retention.ts'

/** What both engines are opened with. */
export interface CommonOptions {
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  /** Called for every batch that is on disk. */
  readonly onCommit: (commit: Written) => void
  /** Maximum number of polls that wait for a store that does not accept them. */
  readonly maxQueueRows: number
}
