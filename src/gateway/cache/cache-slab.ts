import { shortLived } from '../../nodes/buffer-pool.ts'

/**
 * The bytes of many answers in few large pieces of memory, which are used again and again. As buffers of their own they would be the
 * collector's: each that is pushed out after a while is found only by going through the whole heap, and at 8,000 blocks a second that
 * took a third of all processor time.
 */
export interface CacheSlab {
  /** `null`: there is no room until something is given back. */
  put(bytes: Buffer): Slot | null
  /** What a slot for so many bytes takes. */
  roomFor(length: number): number
  /** All of it, used or not. */
  readonly bytes: number
}

export interface Slot {
  /** What was put in: others may overwrite the place while this is still being sent. */
  copy(): Buffer
  /** Called once; nothing is read from it afterwards. */
  free(): void
}

const PAGE_BYTES = 128 * 1024
/** There must be several pages, or one long answer would hold the place of all the others. */
const FEWEST_PAGES = 8
/** So many fit into a page; what is longer has memory of its own. */
const FEWEST_SLOTS = 4
/** Slots come in lengths, each so much longer than the one before: a tenth is lost to that on average. */
const SHORTEST_SLOT = 256
const STEP = 1.25

interface Page {
  readonly memory: Buffer
  readonly slotBytes: number
  /** The last is taken first. */
  readonly free: number[]
  readonly slots: number
}

export function createCacheSlab(maxBytes: number): CacheSlab {
  const pageBytes = Math.min(PAGE_BYTES, Math.floor(maxBytes / FEWEST_PAGES))
  const lengths = lengthsUpTo(Math.floor(pageBytes / FEWEST_SLOTS))
  /** By the length of their slots, those that have a free one. */
  const open = new Map<number, Page[]>(lengths.map((length) => [length, []]))
  /** Pages that nothing is in any more: any length may have them. */
  const spare: Buffer[] = []
  let taken = 0

  function openPage(slotBytes: number): Page | null {
    const memory = spare.pop() ?? allot(pageBytes)
    if (memory === null) return null
    const slots = Math.floor(pageBytes / slotBytes)
    const free = Array.from({ length: slots }, (_, index) => (slots - 1 - index) * slotBytes)
    const page = { memory, slotBytes, free, slots }
    open.get(slotBytes)?.push(page)
    return page
  }

  function allot(length: number): Buffer | null {
    while (taken + length > maxBytes && spare.pop() !== undefined) taken -= pageBytes
    if (taken + length > maxBytes) return null
    taken += length
    return Buffer.allocUnsafeSlow(length)
  }

  function giveBack(page: Page, at: number): void {
    const pages = open.get(page.slotBytes) ?? []
    if (page.free.length === 0) pages.push(page)
    page.free.push(at)
    if (page.free.length < page.slots) return
    pages.splice(pages.indexOf(page), 1)
    spare.push(page.memory)
  }

  function putAlone(bytes: Buffer): Slot | null {
    const own = allot(bytes.length)
    if (own === null) return null
    bytes.copy(own)
    // Nobody ever overwrites it.
    return { copy: () => own, free: () => void (taken -= own.length) }
  }

  return {
    put(bytes) {
      const { length } = bytes
      const slotBytes = lengths.find((fits) => fits >= length)
      if (slotBytes === undefined) return putAlone(bytes)
      const pages = open.get(slotBytes) ?? []
      const page = pages.at(-1) ?? openPage(slotBytes)
      const at = page?.free.pop()
      if (page === null || at === undefined) return null
      if (page.free.length === 0) pages.pop()
      bytes.copy(page.memory, at)
      return new PageSlot(page, at, length, giveBack)
    },
    roomFor: (length) => lengths.find((fits) => fits >= length) ?? length,
    get bytes() {
      return taken
    },
  }
}

class PageSlot implements Slot {
  readonly #page: Page
  readonly #at: number
  readonly #length: number
  readonly #giveBack: (page: Page, at: number) => void

  constructor(page: Page, at: number, length: number, giveBack: (page: Page, at: number) => void) {
    this.#page = page
    this.#at = at
    this.#length = length
    this.#giveBack = giveBack
  }

  copy(): Buffer {
    const bytes = shortLived(this.#length)
    this.#page.memory.copy(bytes, 0, this.#at, this.#at + this.#length)
    return bytes
  }

  free(): void {
    this.#giveBack(this.#page, this.#at)
  }
}

function lengthsUpTo(longest: number): readonly number[] {
  const lengths: number[] = []
  for (let length = SHORTEST_SLOT; length <= longest; length = Math.ceil((length * STEP) / 64) * 64)
    lengths.push(length)
  return lengths
}
