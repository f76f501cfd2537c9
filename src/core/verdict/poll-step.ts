import type { Failure } from '../failure.ts'

/** One exchange of a poll that somebody watches. Its texts may be shown: what is configured as secret is taken out of them. */
export interface PollStep {
  /** After the beginning of the poll. */
  readonly afterMs: number
  readonly tookMs: number
  /** How long our own limit of connections kept it back. */
  readonly waitedMs: number
  readonly method: 'GET' | 'POST'
  /** Appended to the endpoint's URL. */
  readonly path: string
  readonly body: string | null
  readonly answer:
    | { readonly ok: true; readonly status: number; readonly bytes: number; readonly text: string }
    | { readonly ok: false; readonly failure: Failure }
}
