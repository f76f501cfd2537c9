import type { UnixMs } from '../time.ts'

/** What a person wrote about an incident. */
export interface Note {
  readonly id: string
  /** Its id. */
  readonly incident: string
  readonly at: UnixMs
  /** Whether it is shown without the token. */
  readonly isPublic: boolean
  /** One or several lines. */
  readonly text: string
}

export const LONGEST_NOTE = 2000
/** Of one incident. */
export const MOST_NOTES = 100
