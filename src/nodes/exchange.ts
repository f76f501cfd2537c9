import type { Lane } from './connections.ts'
import type { AnswerTaker, RawAnswer } from './http-client.ts'

/** How far an exchange came before it broke. */
export type Stage =
  /** The connection was not open yet: the node cannot have read a byte of it. */
  | 'unsent'
  /** Not one byte of an answer had come. */
  | 'asked'
  /** Within the head of the answer. */
  | 'answering'
  /** Within its body. */
  | 'body'

export type Ending =
  | { readonly ok: true; readonly raw: RawAnswer }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException; readonly stage: Stage; readonly reused: boolean }

/** One request on one lane. How far it came decides whether it may be sent again. */
export class Exchange implements AnswerTaker {
  readonly #lane: Lane
  readonly #settle: (ending: Ending, lane: Lane) => void
  #stage: Stage = 'unsent'
  #reused = false

  constructor(lane: Lane, settle: (ending: Ending, lane: Lane) => void) {
    this.#lane = lane
    this.#settle = settle
  }

  get stage(): Stage {
    return this.#stage
  }

  onAsked(): void {
    this.#reused = this.#lane.used
    this.#stage = 'asked'
  }

  onStarted(): void {
    this.#stage = 'answering'
  }

  onHead(): void {
    this.#stage = 'body'
  }

  onAnswer(raw: RawAnswer): void {
    this.#lane.used = true
    this.#settle({ ok: true, raw }, this.#lane)
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#settle({ ok: false, error, stage: this.#stage, reused: this.#reused }, this.#lane)
  }
}
