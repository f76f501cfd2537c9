import { FairShare } from '../core/fair-share.ts'

/**
 * Limits the memory of long bodies while they are being received, shared fairly between callers. A body that does not fit waits,
 * but the oldest one goes on, so that the others get its memory in the end.
 */
export class IncomingMemory {
  readonly #bytes: FairShare
  /** The oldest comes first. */
  readonly #bodies = new Set<IncomingBody>()

  constructor(maxBytes: number) {
    this.#bytes = new FairShare(maxBytes)
  }

  /** Returns `null` if the body has got the bytes, else it gets them later. */
  ask(body: IncomingBody, bytes: number): Promise<void> | null {
    this.#bodies.add(body)
    if (this.#fits(body, bytes)) {
      this.take(body, bytes)
      return null
    }
    return new Promise((goOn) => {
      body.wanted = { bytes, goOn }
    })
  }

  /** Takes without a check. */
  take(body: IncomingBody, bytes: number): void {
    this.#bodies.add(body)
    this.#bytes.take(body.caller, bytes)
    body.heldBytes += bytes
  }

  release(body: IncomingBody): void {
    if (!this.#bodies.delete(body)) return
    this.#bytes.release(body.caller, body.heldBytes)
    for (const other of this.#bodies) {
      const { wanted } = other
      if (wanted === null || !this.#fits(other, wanted.bytes)) continue
      other.wanted = null
      this.take(other, wanted.bytes)
      wanted.goOn()
    }
  }

  #fits(body: IncomingBody, bytes: number): boolean {
    const [oldest] = this.#bodies
    return body === oldest || this.#bytes.mayTake(body.caller, bytes)
  }
}

export interface IncomingBody {
  readonly caller: string | null
  heldBytes: number
  /** Set while the body waits. */
  wanted: { readonly bytes: number; readonly goOn: () => void } | null
}
